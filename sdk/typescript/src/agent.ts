import type { Part } from "./answer.ts";
import { defineAgent, isResourceFor, type Prompt, type PromptOptions, type Resource, type ResourceOptions, type Tool, type ToolOptions } from "./define.ts";
import { Fault, Refusal } from "./errors.ts";
import { exceeds, isObject, type JsonObject } from "./frame.ts";
import { Gateway, type Definition } from "./gateway.ts";
import { logWith, silent, standardLog, type Logger } from "./log.ts";
import { paramOf, type Message } from "./message.ts";
import { findMisfit, readArguments } from "./onetool.ts";
import { isStandard, jsonSchemaOf, Misfit, validate, type Schema } from "./schema.ts";
import { Settings, type Place } from "./settings.ts";
import { onSignals } from "./signals.ts";
import type { Turn } from "./turn.ts";
import { Worker, type Handler } from "./worker.ts";

/** What an agent is and where it serves. */
export interface AgentOptions extends Place {
  displayName?: string;
  description?: string;
  version?: string;
  /** For people to see. */
  model?: string;
  /** For people to see. */
  instructions?: string;
  /** Served as it is. */
  capabilities?: JsonObject;
  /**
   * push: all messages at once, and offline at once when nobody is connected. queue: one at a time per lane, the
   * rest wait. busy_reject: one at a time, others are told to come back. Cannot change once declared.
   */
  deliveryMode?: "push" | "queue" | "busy_reject";
  /** What queue takes one at a time: each session, or the whole agent. */
  lane?: "session" | "agent";
  /**
   * What becomes of work when this process dies over it. When left out another instance gets it, unless the caller
   * gave an idempotency key.
   */
  redelivery?: "always" | "before_start" | "never";
  /** How long a caller waits, in milliseconds; the gateway's default when left out. */
  timeoutMs?: number;
  /** Handlers at once; no limit when left out. */
  concurrency?: number;
  /** Where the agent tells what happens to it; false = nowhere. Standard error when left out. */
  log?: Logger | false;
  /** Called each time the agent is connected. */
  onConnected?: (id: string) => void;
  /** Called when the owner asks for a restart. When left out, the agent connects and declares itself anew. */
  onRestart?: () => void;
}

/** What a handler gives back: the answer's text, an object as structured content, or nothing. */
export type AnswerValue = string | JsonObject | readonly unknown[] | number | boolean | null | undefined | void;

/** An answer, whole, or streamed: strings are pieces of its text, objects are parts. */
export type HandlerResult = AnswerValue | Promise<AnswerValue> | AsyncIterable<string | Part>;

/** Answers a message of somebody who talks to the agent. */
export type MessageHandler = (turn: Turn) => HandlerResult;

/** What a completion/complete asks. */
export interface CompletionRequest {
  ref: { type: string; name?: string; uri?: string };
  argument: { name: string; value: string };
  context?: { arguments?: Record<string, string> };
}

export type CompletionHandler = (request: CompletionRequest, turn: Turn) => readonly string[] | JsonObject | Promise<readonly string[] | JsonObject>;

const badArguments = -32602;

/** How large structured content may be, in bytes, to be the answer's text as well. */
const maxSaidTwice = 256 << 10;

/** From this revision of MCP on, arguments that do not fit are for the model to read. */
const misfitsAreResults = "2025-11-25";

/**
 * An agent: say what it can do, then `run` it.
 *
 *     const agent = new Agent("echo");
 *     agent.message(async function* (turn) {
 *       yield "you said: ";
 *       yield turn.text;
 *     });
 *     await agent.run();
 *
 * The process dials out, so it needs no open port. Whatever breaks, it reconnects until it is stopped.
 */
export class Agent {
  readonly name: string;
  readonly #options: AgentOptions;
  readonly #log: Logger;
  #tools = new Map<string, Tool>();
  #resources = new Map<string, Resource>();
  #prompts = new Map<string, Prompt>();
  #message: MessageHandler | undefined;
  #complete: CompletionHandler | undefined;
  #gateway: Gateway | undefined;
  #worker: Worker | undefined;
  #changing: Promise<unknown> = Promise.resolve(); // one change at a time

  /** `name` is unique among its owner's agents. */
  constructor(name: string, options: AgentOptions = {}) {
    if (!name) throw new Error("the agent's name is empty; give it one");
    this.name = name;
    this.#options = options;
    this.#log = logWith(options.log === false ? silent : (options.log ?? standardLog), { agent: name });
  }

  /** The gateway's id of this agent; empty until it first connected. */
  get id(): string {
    return this.#worker?.id ?? "";
  }

  /** Offers a tool. The gateway checks the arguments against the schema before the agent gets them. */
  tool<const S extends Schema = JsonObject>(name: string, options: ToolOptions<S>): this {
    if (this.#tools.has(name)) throw new Error(`agent ${this.name}: two tools are called "${name}"; give one of them another name`);
    this.#tools.set(name, { name, ...options } as unknown as Tool);
    return this;
  }

  removeTool(name: string): this {
    this.#tools.delete(name);
    return this;
  }

  /**
   * Offers something that clients can read. With an expression in braces, as in "note://{name}", the address is a
   * template.
   */
  resource(uri: string, options: ResourceOptions): this {
    this.#resources.set(uri, { uri, ...options });
    return this;
  }

  removeResource(uri: string): this {
    this.#resources.delete(uri);
    return this;
  }

  /** Offers a template of messages. */
  prompt(name: string, options: PromptOptions): this {
    this.#prompts.set(name, { name, ...options });
    return this;
  }

  removePrompt(name: string): this {
    this.#prompts.delete(name);
    return this;
  }

  /**
   * Answers whoever talks to the agent, and whatever has no handler of its own. Without it, an agent with a single tool
   * is that tool: what is said is its one required argument, or a JSON object of arguments.
   */
  message(handler: MessageHandler): this {
    this.#message = handler;
    return this;
  }

  /** Proposes values for the arguments of prompts and resource templates. */
  completions(handler: CompletionHandler): this {
    this.#complete = handler;
    return this;
  }

  /**
   * Serves the agent until it is stopped: by `stop`, by `signal`, or by SIGTERM and SIGINT. Then it finishes what
   * is running, for ten seconds at most. It rejects only for what trying again cannot mend.
   */
  async run(options: { signal?: AbortSignal; handleSignals?: boolean } = {}): Promise<void> {
    if (this.#worker) throw new Error(`agent ${this.name} runs already`);
    this.#gateway = new Gateway(new Settings(this.name, this.#options), this.#log);
    const worker = new Worker(
      {
        agent: this,
        name: this.name,
        definition: () => this.#definition(),
        handlerFor: (message) => this.#handlerFor(message),
        concurrency: this.#options.concurrency ?? 0,
        onConnected: this.#options.onConnected,
        onRestart: this.#options.onRestart,
      },
      this.#gateway,
      this.#log,
    );
    this.#definition(); // what is wrong with it should be known before anything is tried
    this.#worker = worker;
    const stop = () => void worker.stop();
    const forgetSignals = options.handleSignals === false ? undefined : onSignals(stop);
    options.signal?.addEventListener("abort", stop, { once: true });
    if (options.signal?.aborted) stop();
    try {
      await worker.run();
    } finally {
      forgetSignals?.();
      options.signal?.removeEventListener("abort", stop);
      this.#worker = undefined;
    }
  }

  /** Lets the agent finish what is running, and ends `run`. */
  async stop(): Promise<void> {
    await this.#worker?.stop();
  }

  /**
   * Changes what the agent shows of itself while it runs. Connected clients are told. A change that the gateway
   * refuses did not happen; one that it could not be told is told when it is there again.
   *
   *     await agent.change(() => agent.removeTool("slow"));
   */
  change(apply: () => void): Promise<void> {
    const made = this.#changing.then(() => this.#changeNow(apply));
    this.#changing = made.catch(() => {});
    return made;
  }

  async #changeNow(apply: () => void): Promise<void> {
    const before = [this.#tools, this.#resources, this.#prompts] as const;
    [this.#tools, this.#resources, this.#prompts] = [new Map(before[0]), new Map(before[1]), new Map(before[2])];
    const undo = () => ([this.#tools, this.#resources, this.#prompts] = before);
    let definition: Definition;
    try {
      apply();
      definition = this.#definition();
    } catch (error) {
      undo();
      throw error;
    }
    try {
      await this.#gateway?.declare(definition);
    } catch (error) {
      if (error instanceof Refusal) undo();
      else this.#gateway?.declareAgain();
      throw error;
    }
  }

  /** Tells subscribed clients that the resource has changed. */
  resourceUpdated(uri: string): void {
    this.#worker?.tellResourceUpdated(uri);
  }

  #definition(): Definition {
    return defineAgent(this.name, this.#options, {
      tools: [...this.#tools.values()],
      resources: [...this.#resources.values()],
      prompts: [...this.#prompts.values()],
      completions: this.#complete !== undefined,
    });
  }

  /** Who answers a message: the tool, resource or prompt that it is for, or else the handler of messages. */
  #handlerFor(message: Message): Handler {
    return this.#ownHandler(message) ?? ((turn) => this.#talk(turn));
  }

  #ownHandler(message: Message): Handler | undefined {
    switch (message.method) {
      case "tools/call": {
        const tool = this.#tools.get(message.tool);
        return tool?.handler && ((turn) => callTool(tool, turn));
      }
      case "resources/read": {
        const uri = paramOf(message, "uri");
        const resource = [...this.#resources.values()].find((one) => one.read && isResourceFor(one, uri));
        return resource && ((turn) => readResource(resource, uri, turn));
      }
      case "prompts/get": {
        const prompt = this.#prompts.get(paramOf(message, "name"));
        return prompt?.handler && ((turn) => renderPrompt(prompt, turn));
      }
      case "completion/complete": {
        const complete = this.#complete;
        return complete && ((turn) => offerCompletions(complete, turn));
      }
    }
    return undefined;
  }

  async #talk(turn: Turn): Promise<void> {
    if (this.#message) return answerWith(turn, this.#message(turn));
    if (turn.message.tool) throw new Error(`this agent has no tool "${turn.message.tool}"`);
    if (await this.#answerByTool(turn)) return;
    turn.refuse("this agent does not chat; call one of its tools");
  }

  /** REST and A2A have no tools: there, an agent that is one tool is that tool. False: what is said is nothing for it. */
  async #answerByTool(turn: Turn): Promise<boolean> {
    const [tool, ...others] = this.#tools.values();
    if (turn.message.method || !tool?.handler || others.length > 0) return false;
    const { schema = {} } = tool;
    const described = jsonSchemaOf(schema, "input", `tool "${tool.name}"`);
    const args = readArguments(turn.text, described);
    if (!args) return false;
    if (!isStandard(schema)) {
      const misfit = findMisfit(args, described);
      if (misfit === undefined) return false;
      if (misfit) throw new Error(`the arguments do not fit: ${misfit}`);
    }
    await callTool(tool, turn, args);
    return true;
  }
}

async function callTool(tool: Tool, turn: Turn, given = turn.message.arguments): Promise<void> {
  let args: unknown;
  try {
    args = await validate(tool.schema, given);
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    const text = `the arguments do not fit: ${error.message}`;
    if (turn.message.revision >= misfitsAreResults && turn.message.protocol === "mcp") throw new Error(text);
    throw new Fault(badArguments, text, { code: "invalid_param" });
  }
  await answerWith(turn, tool.handler!(args, turn));
}

async function readResource(resource: Resource, uri: string, turn: Turn): Promise<void> {
  const content = await resource.read!(uri, turn);
  if (content !== undefined) turn.addResource(uri, resource.mimeType ?? "", content);
}

async function renderPrompt(prompt: Prompt, turn: Turn): Promise<void> {
  const args = isObject(turn.message.arguments) ? (turn.message.arguments as Record<string, string>) : {};
  const rendered = await prompt.handler!(args, turn);
  if (rendered === undefined) return;
  const messages = typeof rendered === "string" ? [{ role: "user", content: { type: "text", text: rendered } }] : rendered;
  turn.result({ messages });
}

async function offerCompletions(complete: CompletionHandler, turn: Turn): Promise<void> {
  const offered = await complete(turn.message.params as CompletionRequest, turn);
  turn.result({ completion: Array.isArray(offered) ? { values: offered } : offered });
}

/** Makes what a handler gave back the answer, unless the answer has ended. */
async function answerWith(turn: Turn, result: HandlerResult): Promise<void> {
  const value = isStream(result) ? await streamAnswer(turn, result) : await result;
  if (turn.ended) return;
  if (value === undefined || value === null) return turn.send();
  if (typeof value === "string") return turn.send(value);
  const json = JSON.stringify(value);
  if (!isObject(value)) return turn.send(json);
  turn.addStructured(value);
  turn.send(exceeds(json, maxSaidTwice) ? "" : json);
}

/** Streams what an iterator yields, and returns what it returns. It is stopped when nobody wants more. */
async function streamAnswer(turn: Turn, pieces: AsyncIterable<string | Part>): Promise<AnswerValue> {
  const iterator = pieces[Symbol.asyncIterator]() as AsyncIterator<string | Part, AnswerValue>;
  for (;;) {
    const { value, done } = await iterator.next();
    if (done) return value;
    if (turn.signal.aborted || turn.ended) {
      await iterator.return?.();
      turn.signal.throwIfAborted();
      return undefined;
    }
    await (typeof value === "string" ? turn.delta(value) : turn.addPart(value));
  }
}

function isStream(result: HandlerResult): result is AsyncIterable<string | Part> {
  return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
}
