import type { JsonObject } from "./frame.ts";

/** A request to the caller in the words of its protocol. */
export interface Question {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params?: JsonObject;
}

/** A person's answer to `turn.elicit`. */
export type Elicitation<T> = { action: "accept"; content: T } | { action: "decline" | "cancel"; content?: undefined };

/** A folder that the caller lets the agent know of. */
export interface Root {
  uri: string;
  name?: string;
}

const capabilities: Record<string, string> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** What a caller must be able to do to be asked a method. */
export function capabilityOf(method: string): string {
  const capability = capabilities[method];
  if (!capability) throw new Error(`${method}: there is no such question`);
  return capability;
}

type AskOne = (key: string, question: Question, together: number, signal: AbortSignal) => Promise<unknown>;

/** Puts all questions at once. When one fails, the others are given up. */
export async function askAll(questions: Record<string, Question>, signal: AbortSignal | undefined, askOne: AskOne): Promise<Record<string, unknown>> {
  const all = Object.entries(questions);
  const others = new AbortController();
  const either = signal ? AbortSignal.any([signal, others.signal]) : others.signal;
  try {
    const answers = all.map(async ([key, question]) => [key, await askOne(key, question, all.length, either)] as const);
    return Object.fromEntries(await Promise.all(answers));
  } catch (error) {
    others.abort(error);
    throw error;
  }
}
