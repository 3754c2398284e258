/** What the adapters share, and how they tell what they are given. The frameworks themselves are in `make adapters`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { handlerOf, type Servable } from "../src/adapters/index.ts";
import { failureOf } from "../src/adapters/talk.ts";
import { Attachment } from "../src/attachment.ts";
import { Aborted, Denied } from "../src/errors.ts";
import type { HistoryMessage } from "../src/gateway.ts";
import { Seal } from "../src/sealing.ts";
import type { Turn } from "../src/turn.ts";

type Said = [name: string, ...rest: unknown[]];

const seal = new Seal(Buffer.alloc(32, 1));

/** A memory as it is kept with the answer to a message. */
function kept(kind: string, message: string, memory: object) {
  return { memory: { [kind]: seal.close(JSON.stringify(memory), `ch/${message}`) } };
}

/** A turn that notes what is done with it. */
function fakeTurn(text: string, more: { history?: Partial<HistoryMessage>[]; can?: string[]; state?: string; input?: object; deny?: string[]; attachments?: Attachment[] } = {}) {
  const said: Said[] = [];
  const controller = new AbortController();
  const note = (...what: Said) => void said.push(what);
  const turn = {
    text,
    attachments: more.attachments ?? [],
    signal: controller.signal,
    message: { id: "m9", offset: 9, channel: "ch", from: "user:1", tool: "", arguments: undefined, state: more.state ?? "", input: more.input ?? {} },
    history: async () => more.history ?? [],
    can: (what: string) => (more.can ?? []).includes(what),
    delta: async (piece: string) => note("delta", piece),
    reasoning: async (piece: string) => note("reasoning", piece),
    seal,
    remember: (value: object) => note("remember", Object.fromEntries(Object.entries(value).map(([kind, memory]) => [kind, JSON.parse(seal.open(memory, "ch/m9")!)]))),
    needInput: (questions: object, state: string) => note("needInput", questions, state),
    inputRequired: async (question: string) => ({ text: `answer to ${question}` }),
    approve: async (tool: string, args: unknown) => {
      note("approve", tool, args);
      if (more.deny?.includes(tool)) throw new Denied(tool, "not today");
    },
    step: (name: string, kind: string) => ({
      end: (error?: unknown) => note("step", kind, name, ...(error === undefined ? [] : [error])),
      tokens: (model: string, tokens: object) => note("tokens", model, tokens),
    }),
  };
  return { turn: turn as unknown as Turn, said, controller };
}

interface Round {
  parts: object[];
  messages?: object[];
}

/** What looks like an agent of the AI SDK, and streams one round after the other. */
function vercelAgent(...rounds: Round[]) {
  const heard: unknown[] = [];
  const agent = {
    version: "agent-v1",
    tools: { save: { execute: () => {} }, ask: {} },
    generate: () => {},
    stream: async ({ messages }: { messages: unknown[] }) => {
      heard.push(structuredClone(messages));
      const { parts, messages: made = [] } = rounds.shift()!;
      return {
        stream: (async function* () {
          yield* parts;
        })(),
        responseMessages: Promise.resolve(made),
      };
    },
  };
  return { agent, heard };
}

async function answer(target: Servable, turn: Turn): Promise<unknown> {
  return handlerOf(target)(turn);
}

const past: Partial<HistoryMessage>[] = [
  { message_id: "m1", offset: 1, type: "chat_message", body: "one" },
  { offset: 2, type: "agent_reply", in_reply_to: "m1", body: "said", payload: kept("vercel", "m1", { messages: [{ role: "assistant", content: "kept" }] }) },
  { message_id: "m3", offset: 3, type: "chat_message", body: "", payload: { tool: "x", arguments: { message: "two" } } },
  { offset: 4, type: "agent_reply", in_reply_to: "m3", body: "text", payload: kept("mastra", "m3", { messages: [] }) },
  { message_id: "m5", offset: 5, type: "chat_message", body: "three" },
  { offset: 6, type: "agent_reply", in_reply_to: "m5", body: "it broke", stop_reason: "error" },
  { message_id: "m7", offset: 7, type: "chat_message", body: "asked" },
  { offset: 8, type: "agent_reply", in_reply_to: "m7", body: "input required", payload: { input_required: {} } },
];

test("a function answers, whatever it gives back", async () => {
  const { turn } = fakeTurn("hi");
  assert.equal(await answer((text) => `you said ${text}`, turn), "you said hi");
});

test("what is not known is named", () => {
  class Strange {}
  for (const [target, name] of [[new Strange(), "a Strange"], [{ run: 1 }, "an object with run"], [Strange, "the class Strange"], [null, "null"]] as const) {
    assert.throws(() => handlerOf(target as never), (error: Error) => error.message.startsWith(`serve does not know what ${name} is`));
  }
});

test("frameworks are recognised by what they can do", () => {
  const fn = () => {};
  handlerOf(vercelAgent().agent);
  handlerOf({ stream: fn, resumeStream: fn, approveToolCall: fn, declineToolCall: fn } as Servable);
  handlerOf({ lg_is_pregel: true, stream: fn } as Servable);
  handlerOf({ graph: { lg_is_pregel: true }, stream: fn } as Servable);
  handlerOf({ lc_runnable: true, stream: fn } as Servable);
  assert.throws(() => handlerOf({ stream: fn }));
});

test("the conversation comes from the log", async () => {
  const { agent, heard } = vercelAgent({ parts: [{ type: "text-delta", text: "four" }], messages: [{ role: "assistant", content: "four" }] });
  const { turn, said } = fakeTurn("now", { history: past });
  await answer(agent, turn);
  const user = (content: string) => ({ role: "user", content });
  assert.deepEqual(heard, [[user("one"), { role: "assistant", content: "kept" }, user("two"), { role: "assistant", content: "text" }, user("three"), user("now")]]);
  assert.deepEqual(said, [["delta", "four"], ["remember", { vercel: { messages: [{ role: "assistant", content: "four" }] } }]]);
});

test("a memory is the agent's own, and of one answer", async () => {
  const open = { memory: { vercel: { messages: [{ role: "assistant", content: "made up" }] } } };
  const other = { memory: { vercel: new Seal(Buffer.alloc(32, 2)).close('{"messages":[]}', "ch/m1") } };
  for (const payload of [open, other, kept("vercel", "m3", { messages: [] }), { memory: { vercel: "x" } }]) {
    const { agent, heard } = vercelAgent({ parts: [] });
    await answer(agent, fakeTurn("now", { history: [past[0]!, { ...past[1], payload }] }).turn);
    assert.deepEqual((heard[0] as { content: string }[]).map(({ content }) => content), ["one", "said", "now"]);
  }
  const sealed = seal.close("what a tool said 🐝", "ch/m1");
  assert.equal(new Seal(Buffer.alloc(32, 1)).open(sealed, "ch/m1"), "what a tool said 🐝");
  assert.notEqual(seal.close("twice", ""), seal.close("twice", ""));
});

const wantsApproval: Round = {
  parts: [
    { type: "start-step" },
    { type: "tool-call", toolCallId: "c1", toolName: "save", input: { path: "a" } },
    { type: "tool-approval-request", approvalId: "a1", toolCall: { toolCallId: "c1", toolName: "save", input: { path: "a" } } },
    { type: "finish-step", response: { modelId: "small" }, usage: { inputTokens: 3, outputTokens: 4 } },
  ],
  messages: [{ role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "save" }] }],
};

test("the owner decides about tool calls, and the model hears of a no", async () => {
  const { agent, heard } = vercelAgent(wantsApproval, { parts: [{ type: "tool-output-denied", toolCallId: "c1" }] });
  const { turn, said } = fakeTurn("save it", { deny: ["save"] });
  await answer(agent, turn);
  assert.deepEqual((heard[1] as unknown[]).at(-1), {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: "a1", approved: false, reason: "not today" }],
  });
  assert.deepEqual(said.slice(0, -1), [
    ["step", "model", "model"],
    ["tokens", "small", { input: 3, output: 4 }],
    ["step", "model", "model"],
    ["approve", "save", { path: "a" }],
    ["step", "tool", "save", "denied"],
  ]);
});

const asks: Round = {
  parts: [{ type: "tool-call", toolCallId: "c2", toolName: "ask", input: { question: "Which?" } }],
  messages: [{ role: "assistant", content: [{ type: "tool-call", toolCallId: "c2", toolName: "ask" }] }],
};

const toldResult = (value: string) => ({ role: "tool", content: [{ type: "tool-result", toolCallId: "c2", toolName: "ask", output: { type: "text", value } }] });

test("a tool without execute is a question to the person", async () => {
  const { agent, heard } = vercelAgent(asks, { parts: [] });
  await answer(agent, fakeTurn("go").turn);
  assert.deepEqual((heard[1] as unknown[]).at(-1), toldResult("answer to Which?"));
});

test("a caller that can be asked comes back with the answer, to any process", async () => {
  const first = fakeTurn("go", { can: ["elicitation"] });
  await answer(vercelAgent(asks).agent, first.turn);
  const [[name, questions, state]] = first.said.slice(-1) as [[string, Record<string, unknown>, string]];
  assert.deepEqual([name, Object.keys(questions)], ["needInput", ["c2"]]);
  for (const [input, told] of [[{ action: "accept", content: { answer: "this" } }, "this"], [{ action: "decline" }, "The person did not want to answer."]] as const) {
    const { agent, heard } = vercelAgent({ parts: [] });
    await answer(agent, fakeTurn("go", { can: ["elicitation"], state, input: { c2: input } }).turn);
    assert.deepEqual((heard[0] as unknown[]).slice(1), [asks.messages![0], toldResult(told)]);
  }
});

test("a failure is thrown, and is that of the model or tool itself", async () => {
  const { agent } = vercelAgent({ parts: [{ type: "error", error: new Error("gave up", { cause: new Error("the model is down") }) }] });
  await assert.rejects(answer(agent, fakeTurn("go").turn), { message: "the model is down" });
  assert.equal(failureOf({ name: "Error", cause: { message: "inner" } }).message, "inner");
  assert.equal(failureOf("text").message, "text");
  assert.equal(failureOf({ code: 7 }).message, '{"code":7}');
});

test("a framework that does not hear of a cancellation does not hold it up", async () => {
  const { turn, controller } = fakeTurn("go");
  const agent = { ...vercelAgent().agent, stream: async () => ({ stream: new ReadableStream(), response: Promise.resolve({}) }) };
  const ended = answer(agent, turn);
  controller.abort(new Aborted("cancelled"));
  await assert.rejects(ended, Aborted);
});

test("a chain gets what its prompt asks for", async () => {
  const inputs: unknown[] = [];
  const chain = {
    lc_runnable: true,
    first: { inputVariables: ["question", "chat_history"] },
    stream: async function* (input: unknown) {
      inputs.push(input);
      yield { content: "pie" };
      yield "ces";
    },
  };
  const { turn, said } = fakeTurn("now", { history: past.slice(2, 4) });
  await answer(chain as unknown as Servable, turn);
  assert.deepEqual(inputs, [{ question: "now", chat_history: [{ role: "user", content: "two" }, { role: "assistant", content: "text" }] }]);
  assert.deepEqual(said, [["delta", "pie"], ["delta", "ces"]]);
});

const photo = file("photo.png", "image/png", new Uint8Array([1, 2, 3]));
const notes = file("notes.txt", "text/plain; charset=utf-8", "milk");
const song = file("song.mp3", "audio/mpeg", "la");
const book = file("book.txt", "text/plain", "x".repeat((64 << 10) + 1));

/** A file that is in its own link. */
function file(filename: string, type: string, content: string | Uint8Array): Attachment {
  const bytes = Buffer.from(content);
  return new Attachment({ file_id: filename, filename, content_type: type, size: bytes.length, url: `data:application/octet-stream;base64,${bytes.toString("base64")}` });
}

const toldOfFiles = 'look\n\nThe file "notes.txt":\nmilk\n\nThe file "song.mp3" (audio/mpeg, 2 bytes) came along.\n\nThe file "book.txt" (text/plain, 65537 bytes) came along.';
const toldOfAll = toldOfFiles.replace("look\n\n", 'look\n\nThe file "photo.png" (image/png, 3 bytes) came along.\n\n');

test("texts that came along are read to the model, and images are shown to it", async () => {
  const { agent, heard } = vercelAgent({ parts: [], messages: [{ role: "assistant", content: "seen" }] });
  const { turn, said } = fakeTurn("look", { attachments: [photo, notes, song, book] });
  await answer(agent, turn);
  const content = [{ type: "text", text: toldOfFiles }, { type: "file", filename: "photo.png", mediaType: "image/png", data: "AQID" }];
  assert.deepEqual(heard, [[{ role: "user", content }]]);
  assert.deepEqual(said, [["remember", { vercel: { messages: [{ role: "assistant", content: "seen" }], asked: toldOfAll } }]]);
});

test("an image alone is a message", async () => {
  const { agent, heard } = vercelAgent({ parts: [] });
  await answer(agent, fakeTurn("", { attachments: [photo] }).turn);
  assert.deepEqual(heard, [[{ role: "user", content: [{ type: "file", filename: "photo.png", mediaType: "image/png", data: "AQID" }] }]]);
});

test("later turns know what files said", async () => {
  const { agent, heard } = vercelAgent({ parts: [] });
  const history: Partial<HistoryMessage>[] = [
    { message_id: "m1", offset: 1, type: "chat_message", body: "look" },
    { offset: 2, type: "agent_reply", in_reply_to: "m1", body: "seen", payload: kept("vercel", "m1", { messages: [], asked: toldOfAll }) },
  ];
  await answer(agent, fakeTurn("and?", { history }).turn);
  assert.deepEqual(heard, [[{ role: "user", content: toldOfAll }, { role: "user", content: "and?" }]]);
});

test("LangChain's models get images as links that hold them, and prompts their text", async () => {
  const inputs: unknown[] = [];
  const runnable = {
    lc_runnable: true,
    first: { inputVariables: ["question", "messages"] },
    stream: async function* (input: unknown) {
      inputs.push(input);
    },
  };
  const { turn, said } = fakeTurn("look", { attachments: [photo] });
  await answer(runnable as unknown as Servable, turn);
  const question = 'look\n\nThe file "photo.png" (image/png, 3 bytes) came along.';
  const content = [{ type: "text", text: "look" }, { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } }];
  assert.deepEqual(inputs, [{ question, messages: [{ role: "user", content }] }]);
  assert.deepEqual(said, [["remember", { runnable: { asked: question } }]]);
});

test("a function is given the text as it is", async () => {
  assert.equal(await answer((text, { attachments }) => `${text} ${attachments.length}`, fakeTurn("look", { attachments: [notes] }).turn), "look 1");
});
