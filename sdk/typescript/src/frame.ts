/** What travels between an agent and the agent gateway: JSON objects, one per line. */

/** Anything that JSON can carry. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** A JSON object of which only some fields are known. */
export type JsonObject = { [name: string]: unknown };

export type FrameType =
  // Gateway to agent.
  | "hello"
  | "chat_message"
  | "chat_cancel"
  | "user.continue"
  | "user.auth_grant"
  | "answer"
  | "decision"
  | "ack"
  | "restart"
  // Agent to gateway.
  | "delta"
  | "reply"
  | "refuse"
  | "busy"
  | "input_required"
  | "auth_required"
  | "heartbeat"
  | "request"
  | "approve"
  | "background"
  | "log"
  | "progress"
  | "resource_updated"
  | "drain"
  // Both.
  | "error"
  | "working";

/** One frame. `message_id` always names the turn: the chat_message that is being answered. */
export interface Frame {
  type: FrameType;
  agent_id?: string;
  channel_id?: string;
  message_id?: string;
  offset?: number;
  attempt?: number;
  publisher_id?: string;
  body?: string;
  parts?: unknown;
  payload?: unknown;
  is_error?: boolean;
  stop_reason?: string;
  steps?: unknown;
  usage?: unknown;
  deadline_ms?: number;
  traceparent?: string;
  tracestate?: string;
  spans?: boolean;
  text?: string;
  reasoning?: string;
  part?: unknown;
  request_id?: string;
  key?: string;
  method?: string;
  params?: unknown;
  result?: unknown;
  skill?: string;
  tool?: string;
  arguments?: unknown;
  auto?: boolean;
  error?: { code: string; message: string };
  level?: string;
  logger?: string;
  data?: unknown;
  progress?: number;
  total?: number;
  uri?: string;
  reason?: string;
  connection_id?: string;
  agents?: Record<string, string>;
  heartbeat_ms?: number;
}

/** How large one frame may be on the wire, in bytes; larger things are files. */
export const maxFrame = 1 << 20;

export const tooLarge = `it is larger than ${maxFrame} bytes; send large things as files`;

/** Fields that hold whatever JSON the author or the caller wrote. */
const rawFields = new Set(["parts", "payload", "steps", "usage", "part", "params", "result", "arguments", "data"]);

/** Returns the frame as one line. Fields that say nothing are left out. */
export function encodeFrame(frame: Frame): string {
  const said: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(frame)) {
    if (value || rawFields.has(name)) said[name] = value;
  }
  return wellFormed(JSON.stringify(said));
}

/** Half a surrogate pair, as JSON.stringify writes it; an even number of backslashes before it is text. */
const halfPair = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** JSON without half surrogate pairs: JavaScript strings may hold them, UTF-8 cannot. */
export function wellFormed(json: string): string {
  return json.includes("\\ud") ? json.replace(halfPair, "$1\ufffd") : json;
}

/** Reports whether a text has more than that many bytes in UTF-8. */
export function exceeds(text: string, bytes: number): boolean {
  return text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes);
}

/** A copy of a value as JSON has it. Throws when JSON cannot carry it; `what` names it. */
export function snapshot(value: unknown, what: string): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new Error(`${what}: JSON cannot carry this: ${(cause as Error).message}`, { cause });
  }
  if (text === undefined) throw new Error(`${what}: JSON cannot carry ${typeof value}`);
  return JSON.parse(text);
}

/** Reports whether a value is a JSON object: no array, not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
