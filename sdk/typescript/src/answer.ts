import { Ended, Fault } from "./errors.ts";
import { encodeFrame, exceeds, isObject, maxFrame, snapshot, tooLarge, type Frame, type JsonObject } from "./frame.ts";
import { Steps } from "./step.ts";
import type { Message } from "./message.ts";

/** How much text one frame carries, in bytes, whatever JSON makes of it. */
const maxPiece = 128 << 10;

/** A part of an answer besides its text: a JSON object with a type. Unknown types pass through. */
export type Part = { type: string } & JsonObject;

/** Where frames go. They are lost while there is no connection. */
export interface Outlet {
  readonly connected: boolean;
  send(line: string): void;
  /** Resolves when there is room for more; undefined when there is room now. */
  room(): Promise<void> | undefined;
}

/** The answer to one message, in the making. */
export class Answer {
  readonly steps: Steps;
  readonly #id: string;
  readonly #outlet: Outlet;
  #body = ""; // what was streamed
  #bodyBytes = 0;
  #texts = ""; // of the parts that are text
  #parts: Part[] = [];
  #payload: JsonObject = {};
  #terminal: string | undefined; // set once

  constructor(message: Message, outlet: Outlet) {
    this.#id = message.id;
    this.#outlet = outlet;
    this.steps = new Steps(message.trace, message.spans);
  }

  /** The answer has its terminal frame. */
  get ended(): boolean {
    return this.#terminal !== undefined;
  }

  /** Streams a piece of the answer's text. */
  delta(text: string): Promise<void> | undefined {
    if (this.ended) return undefined;
    if (this.#bodyBytes <= maxFrame) {
      this.#body += text;
      this.#bodyBytes += Buffer.byteLength(text);
    }
    return this.#streamPieces(text, (piece) => ({ type: "delta", text: piece }));
  }

  /** Streams a piece of what the agent thinks. */
  reasoning(text: string): Promise<void> | undefined {
    return this.#streamPieces(text, (piece) => ({ type: "delta", reasoning: piece }));
  }

  #streamPieces(text: string, frameOf: (piece: string) => Frame): Promise<void> | undefined {
    if (!exceeds(text, maxPiece)) return text ? this.stream(frameOf(text)) : undefined;
    for (const piece of cutText(text, maxPiece)) this.stream(frameOf(piece));
    return this.#outlet.room();
  }

  /** Sends a frame that may be lost. What it returns holds the author back while the connection is slower. */
  stream(frame: Frame): Promise<void> | undefined {
    if (this.ended) return undefined;
    frame.message_id = this.#id;
    const line = encodeFrame(frame);
    if (exceeds(line, maxFrame)) throw new Error(tooLarge);
    this.#outlet.send(line);
    return this.#outlet.room();
  }

  /** Adds a part that comes with the answer. */
  addPart(part: unknown): Part {
    const copy = snapshot(part, "part");
    if (!isObject(copy) || typeof copy.type !== "string" || !copy.type) {
      throw new Error(`part: want an object with a type, not ${JSON.stringify(copy).slice(0, 60)}`);
    }
    if (!this.ended) this.#parts.push(copy as Part);
    return copy as Part;
  }

  addText(text: string): void {
    this.addPart({ type: "text", text });
    this.#texts += text;
  }

  setPayload(name: string, value: unknown): void {
    this.#payload[name] = snapshot(value, name);
  }

  /** Ends the answer: its text is what was streamed, then `text`. */
  send(text: string): void {
    this.end({ type: "reply", body: this.#body + text });
  }

  /** Ends the answer as a failure of the agent's. */
  fail(text: string): void {
    this.end({ type: "reply", body: text, is_error: true, stop_reason: "error" });
  }

  /** Ends the answer with an error of the caller's protocol. */
  endFault(fault: Fault): void {
    const { code, message } = fault;
    try {
      this.setPayload("error", fault.data === undefined ? { code, message } : { code, message, data: fault.data });
    } catch {
      this.setPayload("error", { code, message }); // JSON cannot carry its data
    }
    this.end({ type: "error", body: message, stop_reason: "error" });
  }

  /** Makes the frame the terminal one, which is kept until the gateway has it, and sends it. */
  end(frame: Frame): void {
    if (this.ended) throw new Ended();
    frame.message_id = this.#id;
    if (frame.type === "reply" && !frame.body) frame.body = this.#texts; // for callers that read nothing else
    if (this.#parts.length > 0) frame.parts = this.#parts;
    if (Object.keys(this.#payload).length > 0) frame.payload = this.#payload;
    let line = encodeFrame({ ...frame, ...this.steps.tell() });
    if (exceeds(line, maxFrame)) line = encodeFrame({ ...frame, ...this.steps.tellUsage() }); // they are worth less
    if (exceeds(line, maxFrame)) {
      const size = Buffer.byteLength(line);
      line = this.#failure(`the agent's answer is too large (${size} bytes, the limit is ${maxFrame}); it should send a link to a file`);
    }
    this.#terminal = line;
    this.#body = this.#texts = "";
    this.#parts = [];
    this.#payload = {};
    this.#outlet.send(line);
  }

  #failure(text: string): string {
    return encodeFrame({ type: "reply", message_id: this.#id, body: text, is_error: true, stop_reason: "error" });
  }

  /** Tells the caller why there is no answer, in place of one that the gateway will never take. */
  replace(reason: string): void {
    this.#terminal = this.#failure(`the agent's answer was refused: ${reason}`);
  }

  /** Says again, on a new connection, what the gateway may have missed. */
  sendAgain(): void {
    if (this.#terminal !== undefined) {
      this.#outlet.send(this.#terminal);
      return;
    }
    if (!this.#body) return;
    const said = encodeFrame({ type: "delta", message_id: this.#id, text: this.#body, reason: "replay" });
    if (!exceeds(said, maxFrame)) this.#outlet.send(said); // else it will be no answer either
  }
}

/** Pieces of at most that many bytes in UTF-8. No character is torn. */
function* cutText(text: string, most: number): Generator<string> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + most, bytes.length);
    while (to < bytes.length && (bytes[to]! & 0xc0) === 0x80) to--;
    yield bytes.toString("utf8", from, to);
    from = to;
  }
}
