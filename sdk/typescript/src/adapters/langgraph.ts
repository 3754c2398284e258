/**
 * Graphs of LangGraph.js, and what createAgent of LangChain.js makes. Interrupts need a checkpointer. With one, a
 * conversation is a thread, whose id is the channel's; without, or when the thread is new or lost, the conversation
 * is told again from the log of BeeOS.
 */
import { isObject, type JsonObject } from "../frame.ts";
import { contentOf, keepMessage, langText, retellAll, stepsOf, streamPiece, type LangMessage } from "./langchain.ts";
import { questionOf, type Answers, type Asked, type Talk } from "./talk.ts";

type Config = JsonObject & { configurable: { thread_id: string } };

interface Graph {
  checkpointer?: unknown;
  stream(input: unknown, config: JsonObject): Promise<AsyncIterable<[string, unknown]>>;
  getState(config: JsonObject): Promise<State>;
}

interface State {
  values?: { messages?: LangMessage[] };
  next?: string[];
}

interface Interrupt {
  id?: string;
  value: unknown;
}

/** What has come of a run of the graph. */
interface Outcome {
  interrupts: Interrupt[];
  values: JsonObject;
  streamed: boolean;
}

export function asGraph(target: object): Answers | undefined {
  const { lg_is_pregel, graph } = target as { lg_is_pregel?: unknown; graph?: { lg_is_pregel?: unknown } };
  if (lg_is_pregel === true) return (talk) => answer(target as Graph, target as Graph, talk);
  if (isObject(graph) && graph.lg_is_pregel === true) return (talk) => answer(target as Graph, graph as unknown as Graph, talk);
  return undefined;
}

/** `agent` runs the graph: it is the graph itself, or what createAgent put around it. */
async function answer(agent: Graph, graph: Graph, talk: Talk): Promise<void> {
  let { input, thread } = await begin(graph, talk);
  let streamed = false;
  for (;;) {
    const config = { ...threadConfig(thread), streamMode: ["messages", "updates", "values"], signal: talk.signal, callbacks: [stepsOf(talk)] };
    const outcome = await runOnce(agent, talk, input, config);
    streamed ||= outcome.streamed;
    if (outcome.interrupts.length === 0) return finish(talk, outcome.values, streamed);
    const resume = await resolve(talk, outcome.interrupts, thread);
    if (!resume) return;
    input = command(resume);
  }
}

/** What the graph is given, and on which thread. */
async function begin(graph: Graph, talk: Talk): Promise<{ input: unknown; thread: string }> {
  const { channel, id } = talk.turn.message;
  const now = { messages: [{ role: "user", content: contentOf(talk) }] };
  if (!graph.checkpointer) return { input: { messages: retellAll(await talk.past(), contentOf(talk)) }, thread: id };
  const pending = talk.pending();
  if (pending && waits(await graph.getState(threadConfig(String(pending.thread))))) {
    const { thread, resolved, asked } = pending as { thread: string; resolved: Resolved; asked: string[] };
    return { thread, input: command({ ...resolved, ...Object.fromEntries(asked.map((key) => [key, talk.answerTo(key)])) }) };
  }
  const state = await graph.getState(threadConfig(channel));
  if (state.values?.messages?.length && !waits(state)) return { input: now, thread: channel };
  // A thread that waits for an answer nobody will give any more is left as it is.
  return { input: { messages: retellAll(await talk.past(), contentOf(talk)) }, thread: waits(state) ? id : channel };
}

function waits(state: State): boolean {
  return (state.next?.length ?? 0) > 0;
}

function threadConfig(thread: string): Config {
  return { configurable: { thread_id: thread } };
}

async function runOnce(agent: Graph, talk: Talk, input: unknown, config: JsonObject): Promise<Outcome> {
  const outcome: Outcome = { interrupts: [], values: {}, streamed: false };
  for await (const [mode, said] of talk.read(await agent.stream(input, config))) {
    if (mode === "messages") {
      const [message] = said as [LangMessage];
      if (message.getType?.() === "ai" && (await streamPiece(talk, message))) outcome.streamed = true;
    } else if (mode === "values" && isObject(said)) {
      outcome.values = said;
    } else if (isObject(said) && Array.isArray(said.__interrupt__)) {
      outcome.interrupts.push(...(said.__interrupt__ as Interrupt[]));
    }
  }
  talk.signal.throwIfAborted();
  return outcome;
}

async function finish(talk: Talk, values: JsonObject, streamed: boolean): Promise<void> {
  const messages = Array.isArray(values.messages) ? (values.messages as LangMessage[]) : [];
  const last = messages.at(-1);
  if (!streamed) await talk.turn.delta(last ? langText(last) : JSON.stringify(values));
  const from = messages.findLastIndex((message) => message.getType?.() === "human") + 1;
  if (from > 0) talk.remember({ messages: messages.slice(from).map(keepMessage) });
}

/** What interrupts are answered with, by their ids. */
type Resolved = Record<string, unknown>;

/** Puts interrupts to whom they are for; undefined when the caller has been sent away with questions. */
async function resolve(talk: Talk, interrupts: Interrupt[], thread: string): Promise<Resolved | undefined> {
  const resolved: Resolved = {};
  const questions: Asked[] = [];
  for (const [number, { id, value }] of interrupts.entries()) {
    const key = id ?? String(number);
    const decided = await decide(talk, value);
    if (decided) resolved[key] = decided;
    else questions.push({ key, text: questionOf(value, "The agent asks:") });
  }
  if (questions.length === 0) return resolved;
  const answers = await talk.ask(questions, { thread, resolved, asked: questions.map(({ key }) => key) });
  return answers && { ...resolved, ...answers };
}

/** An interrupt about tool calls, of humanInTheLoopMiddleware or of one's own, is for the owner. */
async function decide(talk: Talk, value: unknown): Promise<unknown> {
  if (!isObject(value)) return undefined;
  const { actionRequests, tool, args, arguments: given } = value;
  if (Array.isArray(actionRequests)) {
    const decisions = (actionRequests as { name: string; args: unknown }[]).map(async (action) => {
      const { approved, reason } = await talk.decide(action.name, action.args);
      return approved ? { type: "approve" } : { type: "reject", message: reason };
    });
    return { decisions: await Promise.all(decisions) };
  }
  if (typeof tool === "string" && isObject(args ?? given)) return talk.decide(tool, args ?? given);
  return undefined;
}

/** LangGraph's Command, which it knows by its name. */
function command(resolved: Resolved): JsonObject {
  const values = Object.values(resolved);
  return { lg_name: "Command", resume: values.length === 1 ? values[0] : resolved, goto: [] };
}
