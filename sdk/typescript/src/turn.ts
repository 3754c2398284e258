import type { Agent } from "./agent.ts";
import type { Answer, Part } from "./answer.ts";
import { askAll, capabilityOf, type Elicitation, type Question, type Root } from "./ask.ts";
import { Attachment, type FileContent } from "./attachment.ts";
import { CannotAsk, codeOf, Denied, describe, Ended, Fault } from "./errors.ts";
import { isObject, snapshot, type Frame, type JsonObject } from "./frame.ts";
import type { Gateway, HistoryMessage } from "./gateway.ts";
import type { Seal } from "./sealing.ts";
import { newId } from "./ids.ts";
import { readAttachments, readParts, type Capability, type Message } from "./message.ts";
import type { Continuations, Questions } from "./questions.ts";
import { jsonSchemaOf, validate, type Infer, type Schema } from "./schema.ts";
import { runStep, type Step, type StepKind, type Tokens } from "./step.ts";
import { addToolResult } from "./toolresult.ts";
import type { Trace } from "./trace.ts";

/** Levels of log records, as RFC 5424 and MCP have them. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** Lets a wait end before the turn does. */
export interface WaitOptions {
  signal?: AbortSignal;
}

/** How another agent is called. */
export interface AgentCallOptions extends WaitOptions {
  /** The step that the call is part of. */
  step?: Step;
  /** Names the call among those of its message. Calls that are made at once have no sure order, and need one. */
  key?: string;
}

/** What the person said after `inputRequired` or `authRequired`. */
export interface Continued {
  text: string;
  payload: unknown;
  parts: JsonObject[];
  attachments: Attachment[];
}

export interface ApprovalOptions extends WaitOptions {
  /** The server that the tool is on; empty for the agent's own. */
  skill?: string;
  /** Go ahead unless the owner wants to be asked, or the tool is declared destructive. */
  auto?: boolean;
  /**
   * Names this one call within its message, for agents that know after a restart which calls they have made: a
   * yes that was given to a key is given to it again. Without it a yes that may have been heard is not.
   */
  key?: string;
}

/** What a turn is made of. */
export interface TurnParts {
  agent: Agent;
  message: Message;
  answer: Answer;
  signal: AbortSignal;
  gateway: Gateway;
  questions: Questions;
  continuations: Continuations;
}

/** While the server cannot store an approval it is asked for again, first and at last after so many milliseconds. */
const askAgainFirst = 1_000;
const askAgainLast = 15_000;

/**
 * A message and the answer to it, in the making. A handler that returns without ending the answer ends it with
 * what it has streamed, added and returned.
 */
export class Turn {
  /** The agent that answers. */
  readonly agent: Agent;
  /** What the caller asks. */
  readonly message: Message;
  /** Aborted when the caller cancels, the deadline passes or the agent stops. */
  readonly signal: AbortSignal;

  readonly #answer: Answer;
  readonly #gateway: Gateway;
  readonly #questions: Questions;
  readonly #continuations: Continuations;
  readonly #asked = new Map<string, number>();

  /** @internal */
  constructor(parts: TurnParts) {
    this.agent = parts.agent;
    this.message = parts.message;
    this.signal = parts.signal;
    this.#answer = parts.answer;
    this.#gateway = parts.gateway;
    this.#questions = parts.questions;
    this.#continuations = parts.continuations;
  }

  /** @internal */
  get seal(): Seal {
    return this.#gateway.seal;
  }

  /** What the caller said. */
  get text(): string {
    return this.message.text;
  }

  /** The files that came along. */
  get attachments(): readonly Attachment[] {
    return this.message.attachments;
  }

  /** Where the turn is in a distributed trace; `traceHeaders` tells others. */
  get trace(): Trace | undefined {
    return this.message.trace;
  }

  /** The answer has ended. */
  get ended(): boolean {
    return this.#answer.ended;
  }

  /** Reports whether the caller can be asked something in mid-answer; "progress" when it watches. */
  can(what: Capability): boolean {
    return this.message.can.includes(what);
  }

  // What watching callers see at once. Wait for these in a loop, so that a handler is no faster than its
  // connection; a single one need not be waited for. When nobody wants them any more, `signal` is aborted.

  /** Streams a piece of the answer's text. */
  async delta(text: string): Promise<void> {
    await this.#answer.delta(text);
  }

  /** Streams a piece of what the agent thinks. It is not part of the answer. */
  async reasoning(text: string): Promise<void> {
    await this.#answer.reasoning(text);
  }

  /** Tells how far the work is; total 0 = unknown. */
  async progress(done: number, total = 0, message = ""): Promise<void> {
    await this.#answer.stream({ type: "progress", progress: done, total, text: message });
  }

  /** Sends a log record. `data` is anything that JSON can carry. */
  async log(level: LogLevel, data: unknown, logger = ""): Promise<void> {
    await this.#answer.stream({ type: "log", level, logger, data: jsonOrText(data) });
  }

  /**
   * Says that the answer takes longer than the caller should hold the line. A caller that knows tasks gets one
   * and comes back for the answer; others just wait.
   */
  async background(): Promise<void> {
    await this.#answer.stream({ type: "background" });
  }

  // What the answer holds besides its text.

  /** Adds a block of text after the answer's own text. */
  addText(text: string): void {
    this.#answer.addText(text);
  }

  /** Adds a picture. */
  addImage(mimeType: string, data: Uint8Array): void {
    this.#answer.addPart({ type: "image", data: base64(data), mimeType });
  }

  /** Adds a sound. */
  addAudio(mimeType: string, data: Uint8Array): void {
    this.#answer.addPart({ type: "audio", data: base64(data), mimeType });
  }

  /** Adds a document; answers a resources/read. */
  addResource(uri: string, mimeType: string, content: string | Uint8Array): void {
    const body = typeof content === "string" ? { text: content } : { blob: base64(content) };
    this.#answer.addPart({ type: "resource", resource: { uri, ...(mimeType && { mimeType }), ...body } });
  }

  /** Adds the address of something that the client can read. */
  addResourceLink(uri: string, name: string, mimeType: string): void {
    this.#answer.addPart({ type: "resource_link", uri, name, mimeType });
  }

  /** Adds a value that fits the tool's output schema. */
  addStructured(value: unknown): void {
    this.#answer.addPart({ type: "structured", data: value });
  }

  /** Adds a part of any type. Watching callers see it at once. */
  async addPart(part: Part): Promise<void> {
    await this.#answer.stream({ type: "delta", part: this.#answer.addPart(part) });
  }

  /**
   * Adds a file: its bytes go to the server, the caller gets a link to them. The file is the caller's from
   * then on. Watching callers see it at once.
   */
  async attach(filename: string, contentType: string, content: FileContent, options: WaitOptions = {}): Promise<Attachment> {
    if (this.ended) throw new Ended();
    const signal = options.signal ? AbortSignal.any([options.signal, this.signal]) : this.signal;
    const file = await this.#gateway.uploadFile(this.message.id, filename, contentType, content, signal).catch((error: unknown) => {
      throw new Error(`attach ${JSON.stringify(filename)}: ${describe(error)}`, { cause: error });
    });
    const { url, content_type: mime_type, filename: name, size, file_id } = file;
    await this.addPart({ type: "file", url, mime_type, name, size, file_id });
    return new Attachment(file);
  }

  /** Says that the answer is a message and no task to come back to, for who calls over A2A. */
  direct(): void {
    this.#answer.setPayload("direct", true);
  }

  /**
   * Answers a method with the whole result object that the caller's protocol defines for it; with tools/call it
   * is for what parts cannot say.
   */
  result(value: JsonObject): void {
    this.#answer.setPayload("result", value);
  }

  /** Adds an object that travels as _meta beside the answer. */
  meta(value: JsonObject): void {
    this.#answer.setPayload("_meta", value);
  }

  /**
   * Keeps a value with the answer, which is not part of what it says: `history` has it, as "memory" in the
   * payload of the reply, for whichever instance answers the next message. It is no secret.
   */
  remember(value: unknown): void {
    this.#answer.setPayload("memory", value);
  }

  // How an answer ends, where returning from the handler does not say it.

  /** Ends the answer: its text is what was streamed, then `text`. */
  send(text = ""): void {
    this.#answer.send(text);
  }

  /** Ends the answer with `text`, whatever was streamed before. */
  correct(text: string): void {
    this.#answer.end({ type: "reply", body: text });
  }

  /** Ends the answer as a failure; `text` tells the caller, or its model, what went wrong. */
  fail(text: string): void {
    this.#answer.fail(text);
  }

  /** Ends the answer with an error of the caller's protocol. Throwing a Fault does the same. */
  fault(code: number, message: string, data?: unknown): void {
    this.#answer.endFault(new Fault(code, message, data));
  }

  /** Ends the answer by declining to give one. */
  refuse(reason: string): void {
    this.#answer.end({ type: "refuse", body: reason });
  }

  /** Ends the answer by asking the caller to come back later. */
  busy(reason: string): void {
    this.#answer.end({ type: "busy", body: reason });
  }

  /** Ends the answer with a result of MCP's tools/call that somebody else has made. */
  sendToolResult(result: JsonObject): void {
    const { text, isError } = addToolResult(this.#answer, result);
    if (isError) this.#answer.fail(text);
    else this.#answer.send(text);
  }

  /**
   * Ends the answer: the caller is to ask again and bring the answers along. What it brings is a new message
   * with `input` and `state`, to whichever instance of the agent; nothing of this one needs to be kept.
   */
  needInput(questions: Record<string, Question>, state = ""): void {
    this.#answer.setPayload("input_required", { requests: questions, state });
    this.#answer.end({ type: "reply", body: `input required: ${Object.keys(questions).sort().join(", ")}` });
  }

  // What was done for the answer.

  /**
   * Begins a step. With `work` it ends when that has ended, with its error if it has one; without, `end` ends
   * it, or the end of the answer. The first 200 are kept, up to 64 KiB.
   */
  step(name: string, kind?: StepKind): Step;
  step<T>(name: string, kind: StepKind | undefined, work: (step: Step) => T | Promise<T>): Promise<T>;
  step<T>(name: string, kind?: StepKind, work?: (step: Step) => T | Promise<T>): Step | Promise<T> {
    const step = this.#answer.steps.begin(name, kind, 0);
    return work ? runStep(step, work) : step;
  }

  /**
   * Says what the answer took of a model, for agents that tell no steps: what is said here counts instead of
   * the tokens of steps, and adds up. Without `costUSD` the server's price list says what it cost.
   */
  usage(model: string, tokens: Tokens & { costUSD?: number }): void {
    this.#answer.steps.addUsage(model, tokens, tokens.costUSD ?? 0);
  }

  // Whom an agent can ask.

  /** Asks the person behind the caller for values that fit the schema, and waits. */
  async elicit<const S extends Schema>(message: string, schema: S, options: WaitOptions = {}): Promise<Elicitation<Infer<S>>> {
    const params = { message, requestedSchema: jsonSchemaOf(schema, "input", "elicit") };
    const answer = await this.#ask("elicitation/create", params, options);
    if (!isObject(answer)) throw new Error("elicit: the caller answered something else");
    const { action, content } = answer as { action: "accept" | "decline" | "cancel"; content?: unknown };
    if (action !== "accept") return { action };
    return { action, content: await validate<S>(schema, content) };
  }

  /** Asks the caller's model. Parameters and result are those of MCP's sampling/createMessage. */
  async sample(params: JsonObject, options: WaitOptions = {}): Promise<JsonObject> {
    const answer = await this.#ask("sampling/createMessage", params, options);
    if (!isObject(answer)) throw new Error("sample: the caller answered something else");
    return answer;
  }

  /** Asks which folders the caller works in. */
  async roots(options: WaitOptions = {}): Promise<Root[]> {
    const answer = await this.#ask("roots/list", undefined, options);
    if (!isObject(answer)) throw new Error("roots: the caller answered something else");
    return (answer.roots ?? []) as Root[];
  }

  /**
   * Puts one question in the words of the caller's protocol. A caller that starts over after a question, as
   * MCP's newest clients do, answers by `key`: it should be the same every time.
   */
  async ask(key: string, question: Question, options: WaitOptions = {}): Promise<unknown> {
    return (await this.askAll({ [key]: question }, options))[key];
  }

  /** Puts several questions at once and returns the answers by the same keys. */
  askAll(questions: Record<string, Question>, options: WaitOptions = {}): Promise<Record<string, unknown>> {
    return askAll(questions, options.signal, (key, { method, params }, together, signal) =>
      this.#ask(method, params, signal ? { signal } : {}, { key, total: together }),
    );
  }

  /**
   * Asks another agent, by its id or by the name that it has with the same owner, and returns the text of its
   * answer. An answer that the other agent calls a failure is an error. Calls are made once: when this message
   * is given to another instance, the calls that it makes in the same order get the answers of the first ones.
   */
  async call(agent: string, message: string, options: AgentCallOptions = {}): Promise<string> {
    return this.#callAgent(agent, { message }, options);
  }

  /**
   * Calls a tool of another agent, as `call` does with a message. Of a tool that answers with a value and no
   * text, the value is returned as JSON.
   */
  async callTool(agent: string, tool: string, args: JsonObject = {}, options: AgentCallOptions = {}): Promise<string> {
    return this.#callAgent(agent, { tool, arguments: args }, options);
  }

  async #callAgent(agent: string, what: JsonObject, options: AgentCallOptions): Promise<string> {
    let answer: unknown;
    try {
      const key = options.key || this.#nextKey("call");
      answer = await this.#request("agents/call", { agent, ...what }, { key }, options);
    } catch (error) {
      this.signal.throwIfAborted();
      options.signal?.throwIfAborted();
      throw new Error(`call ${agent}: ${describe(error)}`, { cause: error });
    }
    const { text = "", is_error } = answer as { text?: string; is_error?: boolean };
    if (is_error) throw new Error(`agent ${agent} failed: ${text}`);
    return text;
  }

  /**
   * Asks the owner of the agent whether the tool may be called with these arguments, and waits. It returns for
   * yes, once, and with exactly these; it throws Denied for no. The owner's rules may say either at once.
   *
   * The question outlives this process: asked again for the same message after a restart, it is the same
   * question, and a decision that nobody has used yet counts.
   */
  async approve(tool: string, args: unknown, options: ApprovalOptions = {}): Promise<void> {
    const what = `approve ${tool}`;
    const frame: Frame = {
      type: "approve",
      message_id: this.message.id,
      request_id: options.key || newId(),
      skill: options.skill ?? "",
      tool,
      arguments: snapshot(args ?? {}, what),
      auto: options.auto ?? false,
    };
    const { result } = await this.#poseUntilStored(what, frame, options.signal);
    if (!isObject(result)) throw new Error(`${what}: the gateway answered something else`);
    if (result.approved !== true) throw new Denied(tool, String(result.reason ?? ""), result.expired === true);
  }

  /** Asks until the question is stored: a server that has lost its database for a moment has not denied anything. */
  async #poseUntilStored(what: string, frame: Frame, signal: AbortSignal | undefined): Promise<Frame> {
    for (let pause = askAgainFirst; ; pause = Math.min(2 * pause, askAgainLast)) {
      try {
        return await this.#pose(what, frame, signal);
      } catch (error) {
        if (codeOf(error) !== "agent_service_unavailable") throw error;
        await sleep(pause, [this.signal, signal], error);
      }
    }
  }

  /**
   * Pauses the answer until the person says more. The pause is part of the conversation: it outlives a lost
   * connection.
   */
  inputRequired(text: string, payload?: unknown, options: WaitOptions = {}): Promise<Continued> {
    return this.#pause("input_required", text, payload, options);
  }

  /** Pauses the answer until the person has granted access. */
  authRequired(text: string, payload?: unknown, options: WaitOptions = {}): Promise<Continued> {
    return this.#pause("auth_required", text, payload, options);
  }

  async #pause(type: "input_required" | "auth_required", text: string, payload: unknown, options: WaitOptions): Promise<Continued> {
    const frame: Frame = { type, message_id: this.message.id, request_id: newId(), body: text };
    if (payload !== undefined && payload !== null) frame.payload = snapshot(payload, type);
    const said = await this.#pose(type, frame, options.signal, this.#continuations);
    return { text: said.body ?? "", payload: said.payload, parts: readParts(said.parts), attachments: readAttachments(said.payload) };
  }

  /** Reads the conversation that the message belongs to, the oldest first; with `since`, what came after that offset. */
  history(options: WaitOptions & { since?: number } = {}): Promise<HistoryMessage[]> {
    const signal = options.signal ? AbortSignal.any([options.signal, this.signal]) : this.signal;
    return this.#gateway.readHistory(this.message.channel, options.since ?? 0, signal);
  }

  /** Sends a question towards the caller, if it can be asked that. */
  async #ask(method: string, params: unknown, options: WaitOptions, about: { key?: string; total?: number } = {}): Promise<unknown> {
    const capability = capabilityOf(method);
    if (!this.can(capability)) throw new CannotAsk(capability, method);
    return this.#request(method, params, { ...about, key: about.key || this.#nextKey(capability) }, options);
  }

  async #request(method: string, params: unknown, about: { key: string; total?: number }, options: WaitOptions & { step?: Step }): Promise<unknown> {
    const trace = options.step?.trace ?? this.trace;
    const frame: Frame = { type: "request", message_id: this.message.id, request_id: newId(), ...about, method, traceparent: trace?.parent ?? "" };
    if (params !== undefined && params !== null) frame.params = snapshot(params, method);
    return (await this.#pose(method, frame, options.signal)).result;
  }

  #pose(what: string, frame: Frame, signal: AbortSignal | undefined, said?: Continuations): Promise<Frame> {
    if (this.ended) return Promise.reject(new Ended());
    return this.#questions.pose(what, frame, [this.signal, signal], said);
  }

  /** Counts the questions of a kind. */
  #nextKey(kind: string): string {
    const number = (this.#asked.get(kind) ?? 0) + 1;
    this.#asked.set(kind, number);
    return `${kind}-${number}`;
  }
}

function base64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}

function jsonOrText(data: unknown): unknown {
  try {
    return snapshot(data, "log");
  } catch {
    return String(data);
  }
}

/** Waits; throws `error` when a signal ends that. */
function sleep(ms: number, signals: (AbortSignal | undefined)[], error: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const ends = AbortSignal.any(signals.filter((signal) => signal !== undefined));
    const stop = () => {
      clearTimeout(timer);
      reject(error as Error);
    };
    const timer = setTimeout(() => {
      ends.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (ends.aborted) stop();
    else ends.addEventListener("abort", stop, { once: true });
  });
}
