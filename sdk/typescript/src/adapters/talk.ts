import { Denied, messageOf } from "../errors.ts";
import { exceeds, type JsonObject } from "../frame.ts";
import type { Step } from "../step.ts";
import type { Turn } from "../turn.ts";
import { readWords, type Image, type Words } from "./attached.ts";
import { ofKind, placeOf, readPast, textOf, type Exchange } from "./past.ts";

/** What may be kept with an answer, in bytes; a longer one is remembered by its text alone. */
const mostMemory = 256 << 10;

const theModel = "the model";

/** What a person decided about a tool call. */
export interface Decision {
  approved: boolean;
  reason: string;
}

/** What a framework wants to know of the person. */
export interface Asked {
  key: string;
  text: string;
}

/** Lets something that a framework made answer a turn. */
export type Answers = (talk: Talk) => Promise<void>;

/** What all adapters have in common: one turn, in the words of frameworks. */
export class Talk {
  readonly turn: Turn;
  readonly #words: Words;
  readonly #kind: string;
  readonly #steps = new Map<string, Step>();

  private constructor(turn: Turn, kind: string, words: Words) {
    this.turn = turn;
    this.#kind = kind;
    this.#words = words;
  }

  /** Reads what the message says, and the files that came with it. `kind` names the framework. */
  static async open(turn: Turn, kind: string): Promise<Talk> {
    return new Talk(turn, kind, await readWords(wordsOf(turn), turn.attachments, turn.signal));
  }

  /** All that is said, for what takes nothing but text. */
  get text(): string {
    return this.#words.all;
  }

  /** What a model that takes images is told, and is shown. */
  get shown(): { text: string; images: Image[] } {
    return { text: this.#words.withoutImages, images: this.#words.images };
  }

  get signal(): AbortSignal {
    return this.turn.signal;
  }

  /** What was said before this turn. */
  past(): Promise<Exchange[]> {
    return readPast(this.turn, this.#kind);
  }

  /** What `ask` was given, when the caller comes back with the answers. */
  pending(): JsonObject | undefined {
    const { state } = this.turn.message;
    return state ? ofKind(JSON.parse(state), this.#kind) : undefined;
  }

  /** Goes through what a framework streams, and stops at once when nobody wants the answer any more. */
  async *read<T>(stream: AsyncIterable<T> | ReadableStream<T>): AsyncGenerator<T> {
    const { signal } = this;
    const iterator = (stream as AsyncIterable<T>)[Symbol.asyncIterator]();
    const over = new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    over.catch(() => {});
    let ended = false;
    try {
      for (;;) {
        const { value, done } = await Promise.race([iterator.next(), over]);
        if (done) {
          ended = true;
          return;
        }
        yield value;
      }
    } finally {
      // Not waited for: a framework that does not hear of the cancellation must not hold it up.
      if (!ended) void iterator.return?.(undefined)?.catch(() => {});
    }
  }

  // What was done for the answer.

  /** `id` tells models apart that are asked at once. */
  modelBegins(id = theModel): void {
    if (!this.#steps.has(id)) this.#steps.set(id, this.turn.step("model", "model"));
  }

  modelTook(model: string, input: number | undefined, output: number | undefined, id = theModel): void {
    this.modelBegins(id);
    this.#steps.get(id)?.tokens(model, { input: input ?? 0, output: output ?? 0 });
    this.ends(id);
  }

  toolBegins(id: string, name: string): void {
    this.#steps.get(theModel)?.end(); // it has said what it wants; how much it took comes later
    if (!this.#steps.has(id)) this.#steps.set(id, this.turn.step(name, "tool"));
  }

  /** Ends the step of a tool, or of a model that gave no answer. */
  ends(id: string, error?: unknown): void {
    this.#steps.get(id)?.end(error);
    this.#steps.delete(id);
  }

  // Whom the framework asks.

  /** Asks the owner about a tool call. The answer to a no is the framework's. */
  async decide(tool: string, args: unknown): Promise<Decision> {
    try {
      await this.turn.approve(tool, args);
      return { approved: true, reason: "" };
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      return { approved: false, reason: error.expired ? messageOf(error) : error.reason || "the owner said no" };
    }
  }

  /**
   * Asks the person. A caller that can be asked in the words of its protocol is sent away with the questions and
   * with `memory`, which it brings back: then this returns undefined, and the answer has ended. Others are asked
   * here and now.
   */
  async ask(questions: Asked[], memory: JsonObject): Promise<Record<string, string> | undefined> {
    if (this.turn.can("elicitation")) {
      const requestedSchema = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] };
      const requests = questions.map(({ key, text }) => [key, { method: "elicitation/create" as const, params: { message: text, requestedSchema } }]);
      this.turn.needInput(Object.fromEntries(requests), JSON.stringify({ [this.#kind]: memory }));
      return undefined;
    }
    const answers: Record<string, string> = {};
    for (const { key, text } of questions) answers[key] = (await this.turn.inputRequired(text)).text;
    return answers;
  }

  /** What the caller brought for a question. */
  answerTo(key: string): string {
    const brought = this.turn.message.input[key] as { action?: string; content?: { answer?: unknown } } | undefined;
    if (brought?.action === "accept") return String(brought.content?.answer ?? "");
    return "The person did not want to answer.";
  }

  /** Keeps what the next turn, or the next process, needs to know: sealed, for callers can see it. */
  remember(memory: JsonObject): void {
    // The log has the words of the message, but not those of its files, whose links do not last.
    const asked = this.turn.attachments.length > 0 ? { asked: this.text } : {};
    const json = JSON.stringify({ ...memory, ...asked });
    if (!exceeds(json, mostMemory)) this.turn.remember({ [this.#kind]: this.turn.seal.close(json, placeOf(this.turn, this.turn.message.id)) });
  }
}

/** What the message of a turn says without its files. */
export function wordsOf(turn: Turn): string {
  const { tool, arguments: args } = turn.message;
  return textOf(turn.text, tool ? { arguments: args } : undefined);
}

/** What a tool call asks, where it is a question. */
export function questionOf(value: unknown, otherwise: string): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return otherwise;
  for (const name of ["question", "message", "text", "prompt", "title"]) {
    const text = (value as JsonObject)[name];
    if (typeof text === "string" && text) return text;
  }
  const json = JSON.stringify(value);
  return json === "{}" ? otherwise : `${otherwise} ${json}`;
}

/** An error out of whatever a framework calls one: often one of its own, around that of a tool or a model. */
export function failureOf(error: unknown): Error {
  if (error instanceof Error && !(error.cause instanceof Error)) return error;
  const { cause, message } = (error ?? {}) as { cause?: unknown; message?: unknown };
  if (cause) return failureOf(cause);
  return new Error(typeof message === "string" && message ? message : typeof error === "string" ? error : JSON.stringify(error));
}
