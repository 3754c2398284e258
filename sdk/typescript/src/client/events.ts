import { maxAnswer } from "../http.ts";
import type { HistoryMessage } from "../gateway.ts";
import { mayPass, sleep, type CallOptions, type Transport } from "./transport.ts";

/** One event of a stream: its name, which may be empty, and what it carries. */
export interface StreamEvent {
  name: string;
  data: string;
}

/** Reads server-sent events, or the one answer that came instead of them. */
export async function* readEvents(response: Response): AsyncGenerator<StreamEvent, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let name = "";
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(piece, { stream: true });
    if (rest.length > maxAnswer) throw new Error(`an event is longer than ${maxAnswer} bytes`);
    const lines = rest.split("\n");
    rest = lines.pop()!;
    for (const line of lines.map((text) => text.trimEnd())) {
      if (line === "") name = "";
      else if (line.startsWith("event:")) name = line.slice("event:".length).trim();
      else {
        const data = line.replace(/^data:/, "").trim();
        if (data.startsWith("{")) yield { name, data };
      }
    }
  }
  const data = rest.replace(/^data:/, "").trim();
  if (data.startsWith("{")) yield { name, data };
}

/** One event of a task or a conversation: a stored message, or a piece of a reply that is being written. */
export interface Update {
  message: HistoryMessage;
  /** The message's body is a piece of the reply to `message.in_reply_to`. */
  delta: boolean;
  /** Of a delta: it is all of the reply so far, which replaces the pieces before. */
  soFar: boolean;
}

const returnFirst = 100;
const returnLast = 5_000;

/** Reads an event stream to its end, over as many connections as it takes. */
export async function* followEvents(transport: Transport, path: string, since: number, options: CallOptions): AsyncGenerator<Update, void, undefined> {
  for (let pause = returnFirst; ; pause = Math.min(2 * pause, returnLast)) {
    try {
      const response = await transport.open({ ...options, path: `${path}?since=${since}`, accept: "text/event-stream", repeatable: false });
      for await (const event of readEvents(response)) {
        if (event.name === "end") {
          if ((JSON.parse(event.data) as { reason?: string }).reason === "stream_closed") break;
          return;
        }
        if (event.name !== "message") continue;
        const message = JSON.parse(event.data) as HistoryMessage;
        since = message.offset;
        pause = returnFirst;
        const delta = message.type === "agent_reply_delta";
        yield { message, delta, soFar: delta && (message.payload as { so_far?: boolean } | undefined)?.so_far === true };
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!mayPass(error) && !isBroken(error)) throw error;
    }
    await sleep(pause, options.signal);
  }
}

/** Reports whether a stream broke off while it was read: fetch calls that a TypeError with a cause, or "terminated". */
function isBroken(error: unknown): boolean {
  return error instanceof TypeError;
}
