/**
 * The agent that beeos agent check tries, in TypeScript: a tool for each thing that an agent can do
 * (sdk/spec/check.md says what they are).
 */
import { EventEmitter, once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, Denied, type HandlerResult, type Turn } from "@beeos/sdk";

const agent = new Agent("check", { description: "Does what beeos agent check asks for.", redelivery: "always" });

const me = String(process.pid);

/** How often this process has begun what. */
const begun = new Map<string, number>();
const more = new EventEmitter().setMaxListeners(0);

function count(...what: string[]): void {
  for (const one of what) begun.set(one, (begun.get(one) ?? 0) + 1);
  more.emit("more");
}

/** Waits until this process has begun something so often. */
async function until(what: string, times: number, signal: AbortSignal): Promise<void> {
  while ((begun.get(what) ?? 0) < times) await once(more, "more", { signal });
}

const name = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
const ok = { type: "object", properties: { ok: { type: "boolean" } } };

/** What the agent does, by what it is told. */
const tools: Record<string, (text: string, turn: Turn) => HandlerResult> = {
  who: () => me,
  count: (text) => String(begun.get(text) ?? 0),
  tally: (text) => `${text} ${begun.get(`tally ${text}`)}`,
  async *stream(text) {
    for (let i = 1; i <= Number(text); i++) {
      yield `${i} `;
      await pause(50);
    }
  },
  async think(text, turn) {
    await turn.reasoning(`thinking about ${text}`);
    return `thought about ${text}`;
  },
  async progress(_text, turn) {
    await turn.progress(1, 2, "half way");
    return "done";
  },
  async log(_text, turn) {
    await turn.log("warning", "it is getting late");
    return "done";
  },
  async *wait(_text, turn) {
    yield "waiting";
    if (!turn.signal.aborted) await once(turn.signal, "abort");
    count("cancelled");
  },
  async elicit(_text, turn) {
    const answer = await turn.elicit("What is your name?", name);
    return `hello ${answer.action === "accept" ? answer.content.name : "nobody"}`;
  },
  async approve(text, turn) {
    try {
      await turn.approve("write_file", { path: text });
    } catch (error) {
      if (error instanceof Denied) return `not saved: ${error.reason}`;
      throw error;
    }
    return `saved ${text}`;
  },
  async *pause(_text, turn) {
    yield "one moment. ";
    yield `you chose ${(await turn.inputRequired("Which one?")).text}`;
  },
  confirm(_text, turn) {
    const { state, input } = turn.message;
    if (!state) {
      turn.needInput({ sure: { method: "elicitation/create", params: { message: "Sure?", requestedSchema: ok } } }, "asked");
      return;
    }
    const sure = input.sure as { content?: { ok?: boolean } };
    if (!sure.content?.ok) throw new Error("not confirmed");
    return `confirmed after ${state}`;
  },
  async files(_text, turn) {
    const texts = await Promise.all(turn.attachments.map((file) => file.text()));
    const read = texts.join("\n");
    await turn.attach("upper.txt", "text/plain", read.toUpperCase());
    return read;
  },
  async meet(text, turn) {
    await until(`meet ${text}`, Number(text), turn.signal);
    return `met ${text}`;
  },
  steps: (_text, turn) =>
    turn.step("search", "tool", async (search) => {
      search.set("found", "3");
      await search.step("ask", "model", (ask) => ask.tokens("check-model", { input: 7, output: 5 }));
      return "done";
    }),
  usage(_text, turn) {
    turn.usage("check-usage", { input: 11, output: 13, costUSD: 0.5 });
    return "done";
  },
  fail(text) {
    throw new Error(text);
  },
  refuse: (text, turn) => turn.refuse(text),
  async *hold(text, turn) {
    yield "held ";
    await until(`release ${text}`, 1, turn.signal);
    yield `attempt ${turn.message.attempt}`;
  },
  release: () => "released",
  async *slow(text, turn) {
    yield `${me} `;
    await pause(Number(text));
    yield `attempt ${turn.message.attempt}`;
  },
};

function run(tool: string, text: string, turn: Turn): HandlerResult {
  count(tool, `${tool} ${text}`);
  return tools[tool]!(text, turn);
}

for (const tool of Object.keys(tools)) {
  agent.tool(tool, {
    schema: { type: "object", properties: { text: { type: "string" } } } as const,
    handler: ({ text = "" }, turn) => run(tool, text, turn),
  });
}

agent.tool("add", {
  description: "Adds two numbers.",
  schema: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] } as const,
  handler: ({ a, b }) => {
    count("add");
    return String(a + b);
  },
});

agent.tool("echo", { description: "Returns its arguments.", schema: { type: "object" }, handler: (args) => args });

agent.message(async function* (turn) {
  const [tool = "", ...words] = turn.text.split(" ");
  if (!Object.hasOwn(tools, tool)) {
    yield "you said: ";
    return turn.text;
  }
  const answer = await run(tool, words.join(" "), turn);
  return answer && typeof answer === "object" && Symbol.asyncIterator in answer ? yield* answer : answer;
});

await agent.run();
