import type { Outlet } from "./answer.ts";
import { BeeosError, describe } from "./errors.ts";
import { encodeFrame, exceeds, maxFrame, tooLarge, type Frame } from "./frame.ts";

const disconnected = "the connection to the gateway was lost before the answer came";
const maxSaid = 8;

/** A question that waits for its answer. */
interface Waiting {
  line: string;
  turn: string | undefined;
  answer(frame: Frame): void;
  fail(error: Error): void;
}

/**
 * What the turns of an agent ask. What is asked of a caller or of another agent fails with its connection, for
 * its answer does not say a turn. An approval or a pause lasts: it is asked again on the next connection.
 */
export class Questions {
  readonly #outlet: Outlet;
  readonly #open = new Map<string, Waiting>();

  constructor(outlet: Outlet) {
    this.#outlet = outlet;
  }

  /**
   * Sends a question and waits for its answer, or for what a person says instead. `what` names it in errors.
   * It ends with any of the signals.
   */
  async pose(what: string, frame: Frame, signals: (AbortSignal | undefined)[], said?: Continuations): Promise<Frame> {
    const lasting = frame.type !== "request";
    const key = keyOf(lasting ? frame.message_id : undefined, frame.request_id);
    const line = encodeFrame(frame);
    if (exceeds(line, maxFrame)) throw new Error(`${what}: ${tooLarge}`);
    if (this.#open.has(key)) throw new Error(`${what}: "${frame.request_id}" waits for a decision already; give each call a key of its own`);
    if (!lasting && !this.#outlet.connected) throw new Error(`${what}: ${disconnected}`);
    const cleanUp: (() => void)[] = [];
    try {
      const got = await new Promise<Frame>((resolve, reject) => {
        for (const signal of signals) {
          signal?.throwIfAborted();
          const onAbort = () => reject(signal!.reason as Error);
          signal?.addEventListener("abort", onAbort, { once: true });
          cleanUp.push(() => signal?.removeEventListener("abort", onAbort));
        }
        this.#open.set(key, { line, turn: lasting ? frame.message_id : undefined, answer: resolve, fail: reject });
        cleanUp.push(() => this.#open.delete(key));
        this.#outlet.send(line);
        if (said) cleanUp.push(said.wait(resolve));
      });
      if (!got.error) return got;
      const cause = new BeeosError(got.error.code, got.error.message);
      throw new Error(`${what}: ${describe(cause)}`, { cause });
    } catch (error) {
      throw error === lostAnswer ? new Error(`${what}: ${disconnected}`) : error;
    } finally {
      for (const undo of cleanUp) undo();
    }
  }

  /** Hands an answer, or that there is none, to whoever asked. */
  answer(frame: Frame): void {
    for (const turn of [frame.message_id, undefined]) {
      this.#open.get(keyOf(turn, frame.request_id))?.answer(frame);
    }
  }

  /** What a turn asks again on a new connection. */
  lastingOf(turn: string): string[] {
    return [...this.#open.values()].filter((question) => question.turn === turn).map((question) => question.line);
  }

  /** Fails what a lost connection takes with it. */
  dropWithConnection(): void {
    for (const question of this.#open.values()) {
      if (question.turn === undefined) question.fail(lostAnswer);
    }
  }
}

const lostAnswer = new Error(disconnected);

function keyOf(turn: string | undefined, request = ""): string {
  return `${turn ?? ""}\n${request}`;
}

/** What the person behind a turn says to its pauses. It may come before somebody waits for it. */
export class Continuations {
  #said: Frame[] = [];
  #waiting = new Set<(frame: Frame) => void>();

  /** Takes what was said; false = nobody waits, and too much was said already. */
  add(frame: Frame): boolean {
    for (const take of this.#waiting) {
      this.#waiting.delete(take);
      take(frame);
      return true;
    }
    return this.#said.length < maxSaid && this.#said.push(frame) > 0;
  }

  /** Hands the next thing that is said to `take`, until the returned function is called. */
  wait(take: (frame: Frame) => void): () => void {
    const next = this.#said.shift();
    if (next) take(next);
    else this.#waiting.add(take);
    return () => this.#waiting.delete(take);
  }
}
