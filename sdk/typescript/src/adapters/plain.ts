import type { HandlerResult } from "../agent.ts";
import type { Turn } from "../turn.ts";

/** Answers a text; it gives back what any handler does, or an async generator of pieces. */
export type PlainFunction = (text: string, turn: Turn) => HandlerResult;

export function isPlainFunction(target: unknown): target is PlainFunction {
  return typeof target === "function" && !/^class\b/.test(Function.prototype.toString.call(target));
}
