/** Other runnables of LangChain.js: models, chains, functions. They have no tools of their own, and nothing to ask. */
import { isObject, type JsonObject } from "../frame.ts";
import { contentOf, retellAll, stepsOf, streamPiece, type LangMessage } from "./langchain.ts";
import type { Answers, Talk } from "./talk.ts";

interface Runnable {
  first?: unknown;
  inputVariables?: string[];
  bindTools?: unknown;
  stream(input: unknown, config: JsonObject): Promise<AsyncIterable<unknown>>;
}

export function asRunnable(target: object): Answers | undefined {
  const { lc_runnable, stream } = target as { lc_runnable?: unknown; stream?: unknown };
  return lc_runnable === true && typeof stream === "function" ? (talk) => answer(target as Runnable, talk) : undefined;
}

async function answer(runnable: Runnable, talk: Talk): Promise<void> {
  const input = await inputFor(runnable, talk);
  const pieces = await runnable.stream(input, { signal: talk.signal, callbacks: [stepsOf(talk)] });
  for await (const piece of talk.read(pieces)) {
    if (typeof piece === "string" || isMessage(piece)) await streamPiece(talk, piece);
    else await talk.turn.delta(JSON.stringify(piece));
  }
  talk.signal.throwIfAborted();
  if (talk.turn.attachments.length > 0) talk.remember({});
}

function isMessage(piece: unknown): piece is LangMessage {
  return isObject(piece) && "content" in piece;
}

/**
 * What it takes shows in what it begins with: a prompt has variables, of which those for messages are called so; a
 * model takes messages; anything else the text.
 */
async function inputFor(runnable: Runnable, talk: Talk): Promise<unknown> {
  const first = (isObject(runnable.first) ? runnable.first : runnable) as Runnable;
  if (Array.isArray(first.inputVariables)) {
    const conversation = retellAll(await talk.past(), contentOf(talk));
    return Object.fromEntries(first.inputVariables.map((name) => [name, variable(name, conversation, talk.text)]));
  }
  if (typeof first.bindTools === "function") return retellAll(await talk.past(), contentOf(talk));
  return talk.text;
}

function variable(name: string, conversation: JsonObject[], text: string): unknown {
  if (name === "messages") return conversation;
  return /history|placeholder|messages/.test(name) ? conversation.slice(0, -1) : text;
}
