import { Attachment, type FileInfo } from "./attachment.ts";
import { isObject, type Frame, type JsonObject } from "./frame.ts";
import { isSampled, parseTrace, type Trace } from "./trace.ts";

/** What a caller can be asked in mid-answer; "progress" when it watches. */
export type Capability = "elicitation" | "sampling" | "roots" | "progress" | (string & {});

/** What a caller asks of the agent. */
export interface Message {
  readonly id: string;
  /** Where it stands in the channel. */
  readonly offset: number;
  /** One conversation; `turn.history` reads it. */
  readonly channel: string;
  /** Who published it: "user:<id>" or "key:<id>". */
  readonly from: string;
  readonly text: string;
  /** What came besides the text, as the caller wrote it. */
  readonly parts: readonly JsonObject[];
  /** Empty = talk to the agent; tools/call, resources/read, prompts/get, completion/complete. */
  readonly method: string;
  /** With tools/call: which. */
  readonly tool: string;
  /** With tools/call and prompts/get. */
  readonly arguments: unknown;
  /** With the other methods. */
  readonly params: unknown;
  /** Which the caller chose; empty = the agent's own. */
  readonly model: string;
  /** mcp, a2a, rest or web; replay for a call that somebody makes again. */
  readonly protocol: string;
  /** Of MCP, as the caller speaks it. */
  readonly revision: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly attachments: readonly Attachment[];
  /** Answers to the questions of `turn.needInput`. */
  readonly input: Readonly<Record<string, unknown>>;
  /** What `turn.needInput` was given. */
  readonly state: string;
  /** 1, and more when an earlier instance died over it. */
  readonly attempt: number;
  readonly deadline: Date | undefined;
  /** The place in a distributed trace of what the agent does for this message. */
  readonly trace: Trace | undefined;
  readonly can: readonly Capability[];
  /** Steps become spans of the trace. */
  readonly spans: boolean;
}

/** Reads a chat_message frame. */
export function readMessage(frame: Frame): Message {
  const call = readCall(frame);
  const trace = parseTrace(frame.traceparent, frame.tracestate);
  return {
    id: frame.message_id ?? "",
    offset: frame.offset ?? 0,
    channel: frame.channel_id ?? "",
    from: frame.publisher_id ?? "",
    text: frame.body ?? "",
    parts: readParts(frame.parts),
    method: readText(call.method),
    tool: readText(call.tool),
    arguments: call.arguments,
    params: call.params,
    model: readText(call.model),
    protocol: readText(call.protocol),
    revision: readText(call.revision),
    metadata: readMetadata(call.metadata),
    attachments: readAttachments(call),
    input: isObject(call.input) ? call.input : {},
    state: readText(call.state),
    attempt: Math.max(frame.attempt ?? 1, 1),
    deadline: frame.deadline_ms ? new Date(frame.deadline_ms) : undefined,
    trace,
    can: Array.isArray(call.can) ? (call.can as string[]) : [],
    spans: frame.spans === true && isSampled(trace),
  };
}

function readCall(frame: Frame): JsonObject {
  const payload = frame.payload ?? {};
  if (!isObject(payload)) throw new Error(`the payload of message ${frame.message_id} is not an object`);
  return payload;
}

function readText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new Error(`${JSON.stringify(value)} should be a text`);
  return value;
}

function readMetadata(value: unknown): Record<string, string> {
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, text]) => [name, readText(text)])) : {};
}

/** The parts of a message; those that are no objects are left out. */
export function readParts(parts: unknown): JsonObject[] {
  return Array.isArray(parts) ? parts.filter(isObject) : [];
}

/** The files that a payload lists. */
export function readAttachments(payload: unknown): Attachment[] {
  const list = isObject(payload) ? payload.attachments : undefined;
  return Array.isArray(list) ? list.filter(isObject).map((info) => new Attachment(info as unknown as FileInfo)) : [];
}

/** What a resources/read asks for, or which prompt a prompts/get wants. */
export function paramOf(message: Message, name: "uri" | "name"): string {
  const value = isObject(message.params) ? message.params[name] : undefined;
  return typeof value === "string" ? value : "";
}
