import { Agent, type AgentOptions, type HandlerResult, type MessageHandler } from "../agent.ts";
import { asGraph } from "./langgraph.ts";
import { asMastraAgent } from "./mastra.ts";
import { isPlainFunction, type PlainFunction } from "./plain.ts";
import { asRunnable } from "./runnable.ts";
import { Talk, wordsOf, type Answers } from "./talk.ts";
import { asVercelAgent } from "./vercel.ts";

/** Something that answers by streaming: an agent of the AI SDK or Mastra, a runnable or graph of LangChain.js. */
export interface Streaming {
  stream(...args: never[]): unknown;
}

/** What can be served as it is. */
export type Servable = PlainFunction | Streaming;

export interface ServeOptions extends AgentOptions {
  /** The agent's name, unique among its owner's. */
  name: string;
}

/** The frameworks, by the name under which memories are kept. Each recognises what it makes without being imported. */
const frameworks: Record<string, (target: object) => Answers | undefined> = {
  vercel: asVercelAgent,
  mastra: asMastraAgent,
  langchain: asGraph,
  runnable: asRunnable,
};

/**
 * Serves what you have, until it is stopped: an agent of Vercel's AI SDK or of Mastra, a runnable, agent or graph of
 * LangChain.js, or a function that takes a text. What it is, is recognised by what it can do.
 *
 *     await serve(new ToolLoopAgent({ model, tools }), { name: "support" });
 */
export async function serve(target: Servable, options: ServeOptions, run: Parameters<Agent["run"]>[0] = {}): Promise<void> {
  await adapt(target, options).run(run);
}

/** Makes an agent of what you have, to add to before it runs. */
export function adapt(target: Servable, { name, ...options }: ServeOptions): Agent {
  return new Agent(name, options).message(handlerOf(target));
}

/** The handler of messages that lets `target` answer. */
export function handlerOf(target: Servable): MessageHandler {
  if (typeof target === "object" && target !== null) {
    for (const [kind, recognise] of Object.entries(frameworks)) {
      const answers = recognise(target);
      if (answers) return async (turn) => answers(await Talk.open(turn, kind));
    }
  }
  if (isPlainFunction(target)) return (turn): HandlerResult => target(wordsOf(turn), turn);
  throw new Error(`serve does not know what ${describeTarget(target)} is; it takes an agent of the AI SDK or Mastra, a runnable or graph of LangChain.js, or a function (text, turn) => answer`);
}

function describeTarget(target: unknown): string {
  if (typeof target === "function") return `the class ${target.name}`;
  if (typeof target !== "object" || target === null) return String(target);
  const { constructor: { name } = { name: "" } } = target;
  return name && name !== "Object" ? `a ${name}` : `an object with ${Object.keys(target).join(", ") || "nothing in it"}`;
}
