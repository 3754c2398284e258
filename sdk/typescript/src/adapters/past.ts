/** What was said before in a conversation, as the log of BeeOS has it. */
import { isObject, type JsonObject } from "../frame.ts";
import type { HistoryMessage } from "../gateway.ts";
import type { Turn } from "../turn.ts";

/** How far back a model is told the conversation, in messages and in bytes of their text and memory. */
const mostMessages = 60;
const mostBytes = 128 << 10;

/** One question of the conversation and what came of it. */
export interface Exchange {
  asked: string;
  /** Undefined when nothing came of it: it failed, or was cancelled. */
  answered: string | undefined;
  /** What the adapter kept with the answer. */
  memory: JsonObject | undefined;
}

/**
 * Reads what the adapter needs to know. It comes from the log, every time: a process that has just started, or
 * another instance of the agent, knows as much as this one.
 */
export async function readPast(turn: Turn, kind: string): Promise<Exchange[]> {
  const { offset } = turn.message;
  const messages = await turn.history({ since: Math.max(0, offset - 2 * mostMessages - 1) });
  return newest(pairUp(messages.filter((message) => message.offset < offset), (reply) => memoryOf(turn, reply, kind)));
}

/** Pairs questions with their answers. An answer that asked back is told by the one that came after it. */
function pairUp(messages: HistoryMessage[], remembered: (reply: HistoryMessage) => JsonObject | undefined): Exchange[] {
  const replies = new Map(messages.filter(({ type }) => type === "agent_reply").map((reply) => [reply.in_reply_to, reply]));
  const exchanges: Exchange[] = [];
  for (const message of messages) {
    if (message.type !== "chat_message") continue;
    const reply = replies.get(message.message_id);
    if (isObject(reply?.payload) && reply.payload.input_required) continue;
    const failed = !reply || reply.stop_reason === "error";
    const memory = failed ? undefined : remembered(reply);
    const asked = typeof memory?.asked === "string" ? memory.asked : textOf(message.body, message.payload);
    if (asked) exchanges.push({ asked, answered: failed ? undefined : reply.body, memory });
  }
  return exchanges;
}

function newest(exchanges: Exchange[]): Exchange[] {
  let from = exchanges.length;
  for (let bytes = 0; from > 0 && exchanges.length - from < mostMessages / 2; from--) {
    bytes += Buffer.byteLength(JSON.stringify(exchanges[from - 1]));
    if (bytes > mostBytes) break;
  }
  return exchanges.slice(from);
}

/** What an adapter of this kind kept. Another kind's, of an agent that was rewritten, is of no use to it. */
function memoryOf(turn: Turn, { payload, in_reply_to }: HistoryMessage, kind: string): JsonObject | undefined {
  const memory = isObject(payload) && isObject(payload.memory) ? payload.memory[kind] : undefined;
  const text = typeof memory === "string" ? turn.seal.open(memory, placeOf(turn, in_reply_to)) : undefined;
  return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
}

/** Where the memory of an answer belongs. */
export function placeOf(turn: Turn, messageID: string | undefined): string {
  return `${turn.message.channel}/${messageID}`;
}

export function ofKind(memory: unknown, kind: string): JsonObject | undefined {
  const own = isObject(memory) ? memory[kind] : undefined;
  return isObject(own) ? own : undefined;
}

/** What a caller says: a text, or the arguments of a tool that the agent has no handler for. */
export function textOf(body: string, call: unknown): string {
  if (body || !isObject(call) || !isObject(call.arguments)) return body;
  const { message } = call.arguments;
  return typeof message === "string" ? message : JSON.stringify(call.arguments);
}
