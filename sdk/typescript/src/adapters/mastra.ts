/** Agents of Mastra. Approvals and questions need a storage in their `new Mastra({ storage })`, as without BeeOS. */
import { isObject, type JsonObject } from "../frame.ts";
import { partsOf } from "./parts.ts";
import type { Exchange } from "./past.ts";
import { failureOf, questionOf, type Answers, type Talk } from "./talk.ts";

type Options = JsonObject & { abortSignal: AbortSignal };
type Resumed = Options & { runId: string; toolCallId: string };

/** What of an Agent of `@mastra/core` is used. */
interface MastraAgent {
  stream(messages: Message[], options: Options): Promise<Output>;
  resumeStream(data: unknown, options: Resumed): Promise<Output>;
  approveToolCall(options: Resumed): Promise<Output>;
  declineToolCall(options: Resumed & { reason?: string }): Promise<Output>;
  hasOwnMemory?(): boolean;
  getMemory?(): Promise<{ getThreadById?(options: { threadId: string }): Promise<unknown> } | undefined>;
}

type Message = { role: string; content: string | JsonObject[] };

interface Output {
  runId: string;
  fullStream: AsyncIterable<{ type: string; payload?: JsonObject }>;
}

/** Why a run has stopped before its end. */
interface Stop {
  kind: "approval" | "question";
  toolCallId: string;
  toolName: string;
  args: unknown;
  asks: unknown;
  resumeSchema: string;
}

export function asMastraAgent(target: object): Answers | undefined {
  const methods = ["stream", "resumeStream", "approveToolCall", "declineToolCall"] as const;
  const fits = methods.every((name) => typeof (target as Record<string, unknown>)[name] === "function");
  return fits ? (talk) => answer(target as MastraAgent, talk) : undefined;
}

async function answer(agent: MastraAgent, talk: Talk): Promise<void> {
  const options = await optionsFor(agent, talk);
  const pending = talk.pending();
  const said = new Said(pending?.messages);
  let run = pending ? await resumePending(agent, talk, pending, options) : await agent.stream(await messagesFor(agent, talk), options);
  for (;;) {
    const stop = await tellAll(talk, run, said);
    if (!stop) return talk.remember({ messages: said.messages });
    const resumed: Resumed = { ...options, runId: run.runId, toolCallId: stop.toolCallId };
    if (stop.kind === "approval") {
      const { approved, reason } = await talk.decide(stop.toolName, stop.args);
      run = await (approved ? agent.approveToolCall(resumed) : agent.declineToolCall({ ...resumed, reason }));
      continue;
    }
    const { toolCallId: key, toolName, resumeSchema } = stop;
    const answers = await talk.ask([{ key, text: questionOf(stop.asks, toolName) }], { run: run.runId, call: key, resumeSchema, messages: said.messages });
    if (!answers) return;
    run = await agent.resumeStream(shapeAnswer(answers[key] ?? "", resumeSchema), resumed);
  }
}

function resumePending(agent: MastraAgent, talk: Talk, { run, call, resumeSchema }: JsonObject, options: Options): Promise<Output> {
  const data = shapeAnswer(talk.answerTo(String(call)), String(resumeSchema));
  return agent.resumeStream(data, { ...options, runId: String(run), toolCallId: String(call) });
}

/** An agent with a memory of its own keeps one thread per conversation. */
async function optionsFor(agent: MastraAgent, talk: Talk): Promise<Options> {
  const { channel, from } = talk.turn.message;
  return { abortSignal: talk.signal, ...(agent.hasOwnMemory?.() && { memory: { thread: channel, resource: from } }) };
}

/** What the agent does not know yet: all of the conversation, unless its own memory has it. */
async function messagesFor(agent: MastraAgent, talk: Talk): Promise<Message[]> {
  const now: Message = { role: "user", content: partsOf(talk) };
  const memory = agent.hasOwnMemory?.() ? await agent.getMemory?.() : undefined;
  if (memory && (await memory.getThreadById?.({ threadId: talk.turn.message.channel }))) return [now];
  return [...(await talk.past()).flatMap(retell), now];
}

function retell({ asked, answered, memory }: Exchange): Message[] {
  const own = Array.isArray(memory?.messages) ? (memory.messages as Message[]) : answered ? [{ role: "assistant", content: answered }] : [];
  return [{ role: "user", content: asked }, ...own];
}

async function tellAll(talk: Talk, run: Output, said: Said): Promise<Stop | undefined> {
  let stop: Stop | undefined;
  for await (const { type, payload = {} } of talk.read(run.fullStream)) {
    if (type === "tool-call-approval" || type === "tool-call-suspended") stop ??= stopOf(type, payload);
    else await tell(talk, type, payload, said);
  }
  talk.signal.throwIfAborted();
  return stop;
}

function stopOf(type: string, payload: JsonObject): Stop {
  const { toolCallId, toolName, args, suspendPayload, resumeSchema } = payload;
  const kind = type === "tool-call-approval" ? "approval" : "question";
  return { kind, toolCallId: String(toolCallId), toolName: String(toolName), args, asks: suspendPayload, resumeSchema: String(resumeSchema ?? "") };
}

async function tell(talk: Talk, type: string, payload: JsonObject, said: Said): Promise<void> {
  const id = String(payload.toolCallId);
  switch (type) {
    case "text-delta":
      said.text(String(payload.text));
      return talk.turn.delta(String(payload.text));
    case "reasoning-delta":
      return talk.turn.reasoning(String(payload.text));
    case "step-start":
      return talk.modelBegins();
    case "step-finish":
      return tellModel(talk, payload as unknown as StepFinish);
    case "tool-call":
      said.call(id, String(payload.toolName), payload.args);
      return talk.toolBegins(id, String(payload.toolName));
    case "tool-result":
      said.result(id, String(payload.toolName), payload.result);
      return talk.ends(id, payload.isError ? failureOf(payload.result) : undefined);
    case "tool-error":
      said.result(id, String(payload.toolName), failureOf(payload.error).message);
      return talk.ends(id, failureOf(payload.error));
    case "tool-output-denied":
      said.result(id, String(payload.toolName), `denied: ${(payload.approval as { reason?: string } | undefined)?.reason ?? ""}`);
      return talk.ends(id, "denied");
    case "tripwire":
      throw new Error(String(payload.reason ?? "the agent's guard refused this"));
    case "error":
      throw failureOf(payload.error);
  }
}

interface StepFinish {
  output?: { usage?: { inputTokens?: number; outputTokens?: number } };
  metadata?: { modelId?: string };
  response?: { modelId?: string };
}

function tellModel(talk: Talk, { output, metadata, response }: StepFinish): void {
  talk.modelTook(response?.modelId ?? metadata?.modelId ?? "", output?.usage?.inputTokens, output?.usage?.outputTokens);
}

/** What a tool that waits is given: its schema says in which shape. */
function shapeAnswer(text: string, resumeSchema: string): unknown {
  let schema: unknown;
  try {
    schema = JSON.parse(resumeSchema);
  } catch {
    return { answer: text };
  }
  const { type, properties } = schema as { type?: string; properties?: JsonObject };
  if (type === "string") return text;
  const names = isObject(properties) ? Object.keys(properties) : [];
  return { [names.length === 1 ? names[0]! : "answer"]: text };
}

/** What the agent says in this turn, as messages that it can be told again. */
class Said {
  readonly messages: Message[];

  constructor(before: unknown) {
    this.messages = Array.isArray(before) ? (before as Message[]) : [];
  }

  text(text: string): void {
    const parts = this.#parts("assistant");
    const last = parts.at(-1);
    if (last?.type === "text") last.text = String(last.text) + text;
    else parts.push({ type: "text", text });
  }

  call(toolCallId: string, toolName: string, input: unknown): void {
    this.#parts("assistant").push({ type: "tool-call", toolCallId, toolName, input });
  }

  result(toolCallId: string, toolName: string, value: unknown): void {
    const output = typeof value === "string" ? { type: "text", value } : { type: "json", value: value ?? null };
    this.#parts("tool").push({ type: "tool-result", toolCallId, toolName, output });
  }

  /** The parts of the last message, if that has this role, or else of a new one. */
  #parts(role: string): JsonObject[] {
    const last = this.messages.at(-1);
    if (last?.role === role && Array.isArray(last.content)) return last.content;
    const content: JsonObject[] = [];
    this.messages.push({ role, content });
    return content;
  }
}
