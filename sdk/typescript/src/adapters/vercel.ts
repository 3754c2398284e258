/** Agents of Vercel's AI SDK: ToolLoopAgent and whatever else implements its interface Agent. */
import type { JsonObject } from "../frame.ts";
import { partsOf } from "./parts.ts";
import { failureOf, questionOf, type Answers, type Talk } from "./talk.ts";

/** What of `ai` is used. */
interface VercelAgent {
  version: string;
  tools?: Record<string, { execute?: unknown } | undefined>;
  stream(options: { messages: ModelMessage[]; abortSignal: AbortSignal }): PromiseLike<StreamResult>;
}

type ModelMessage = { role: string; content: unknown };

interface StreamResult {
  stream?: AsyncIterable<StreamPart>;
  fullStream?: AsyncIterable<StreamPart>;
  responseMessages?: PromiseLike<ModelMessage[]>;
  response: PromiseLike<{ messages?: ModelMessage[] }>;
}

interface ToolCall {
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerExecuted?: boolean;
  invalid?: boolean;
}

/** The members that some part has. */
interface StreamPart extends Partial<ToolCall> {
  type: string;
  text?: string;
  error?: unknown;
  approvalId?: string;
  isAutomatic?: boolean;
  toolCall?: ToolCall;
  preliminary?: boolean;
  response?: { modelId?: string };
  usage?: { inputTokens?: number; outputTokens?: number };
}

interface Wanted {
  approvals: { id: string; call: ToolCall }[];
  questions: ToolCall[];
}

export function asVercelAgent(target: object): Answers | undefined {
  const { version, stream, generate } = target as Partial<Record<"version" | "stream" | "generate", unknown>>;
  const fits = typeof version === "string" && version.startsWith("agent-v") && typeof stream === "function" && typeof generate === "function";
  return fits ? (talk) => answer(target as VercelAgent, talk) : undefined;
}

async function answer(agent: VercelAgent, talk: Talk): Promise<void> {
  const before = (await talk.past()).flatMap(({ asked, answered, memory }) => [{ role: "user", content: asked }, ...(messagesIn(memory) ?? assistant(answered))]);
  // What this turn adds to the conversation.
  const own = messagesIn(talk.pending()) ?? [];
  addToolParts(own, openCalls(own).map((call) => toolResult(call, talk.answerTo(call.toolCallId))));
  for (;;) {
    const { added, wanted } = await runOnce(agent, talk, [...before, user(talk), ...own]);
    own.push(...added);
    addToolParts(own, await decideAll(talk, wanted.approvals));
    if (wanted.questions.length > 0) {
      const questions = wanted.questions.map(({ toolCallId, toolName, input }) => ({ key: toolCallId, text: questionOf(input, toolName) }));
      const answers = await talk.ask(questions, { messages: own });
      if (!answers) return;
      addToolParts(own, wanted.questions.map((call) => toolResult(call, answers[call.toolCallId] ?? "")));
    } else if (wanted.approvals.length === 0) {
      talk.remember({ messages: own });
      return;
    }
  }
}

/** Runs the agent until it is done, or waits for somebody. */
async function runOnce(agent: VercelAgent, talk: Talk, messages: ModelMessage[]): Promise<{ added: ModelMessage[]; wanted: Wanted }> {
  const result = await agent.stream({ messages, abortSignal: talk.signal });
  const wanted: Wanted = { approvals: [], questions: [] };
  for await (const part of talk.read(result.stream ?? result.fullStream!)) await tell(agent, talk, part, wanted);
  talk.signal.throwIfAborted();
  const added = (await result.responseMessages) ?? (await result.response).messages ?? [];
  return { added: [...added], wanted };
}

async function tell(agent: VercelAgent, talk: Talk, part: StreamPart, wanted: Wanted): Promise<void> {
  switch (part.type) {
    case "text-delta":
      return talk.turn.delta(part.text ?? "");
    case "reasoning-delta":
      return talk.turn.reasoning(part.text ?? "");
    case "start-step":
      return talk.modelBegins();
    case "finish-step":
      return talk.modelTook(part.response?.modelId ?? "", part.usage?.inputTokens, part.usage?.outputTokens);
    case "tool-call":
      return noteCall(agent, talk, part as ToolCall, wanted);
    case "tool-result":
      return part.preliminary ? undefined : talk.ends(part.toolCallId!);
    case "tool-error":
      return talk.ends(part.toolCallId!, part.error);
    case "tool-output-denied":
      return talk.ends(part.toolCallId!, "denied");
    case "tool-approval-request":
      if (!part.isAutomatic && part.toolCall) wanted.approvals.push({ id: part.approvalId!, call: part.toolCall });
      return;
    case "error":
      throw failureOf(part.error);
  }
}

/** A call of a tool that has nothing to execute is a question to the person. */
function noteCall(agent: VercelAgent, talk: Talk, call: ToolCall, wanted: Wanted): void {
  const tool = agent.tools?.[call.toolName];
  if (tool && !tool.execute && !call.providerExecuted && !call.invalid) wanted.questions.push(call);
  else talk.toolBegins(call.toolCallId, call.toolName);
}

function decideAll(talk: Talk, approvals: Wanted["approvals"]): Promise<JsonObject[]> {
  return Promise.all(
    approvals.map(async ({ id, call }) => {
      const { approved, reason } = await talk.decide(call.toolName, call.input);
      return { type: "tool-approval-response", approvalId: id, approved, ...(reason && { reason }) };
    }),
  );
}

function user(talk: Talk): ModelMessage {
  return { role: "user", content: partsOf(talk) };
}

function assistant(text: string | undefined): ModelMessage[] {
  return text ? [{ role: "assistant", content: text }] : [];
}

function toolResult({ toolCallId, toolName }: ToolCall, text: string): JsonObject {
  return { type: "tool-result", toolCallId, toolName, output: { type: "text", value: text } };
}

/** Adds to the last message if that is a tool's: the SDK looks for approvals nowhere else. */
function addToolParts(messages: ModelMessage[], parts: JsonObject[]): void {
  if (parts.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === "tool" && Array.isArray(last.content)) messages[messages.length - 1] = { role: "tool", content: [...(last.content as unknown[]), ...parts] };
  else messages.push({ role: "tool", content: parts });
}

function messagesIn(memory: JsonObject | undefined): ModelMessage[] | undefined {
  return Array.isArray(memory?.messages) ? [...(memory.messages as ModelMessage[])] : undefined;
}

/** The calls that have no result. */
function openCalls(messages: ModelMessage[]): ToolCall[] {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as StreamPart[]) : []));
  const done = new Set(parts.filter(({ type }) => type === "tool-result").map((part) => part.toolCallId));
  return parts.filter((part) => part.type === "tool-call" && !done.has(part.toolCallId)) as unknown as ToolCall[];
}
