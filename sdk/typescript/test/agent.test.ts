import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { z } from "zod";
import { Agent, type AgentOptions, type JsonObject } from "../src/index.ts";
import type { Frame } from "../src/frame.ts";
import { FakeGateway } from "./fakegateway.ts";

let gateway: FakeGateway;
let stops: (() => Promise<unknown>)[];

beforeEach(async () => {
  gateway = await FakeGateway.start();
  stops = [];
});

afterEach(async () => {
  await Promise.all(stops.map((stop) => stop()));
  gateway.stop();
});

function newAgent(options: AgentOptions = {}): Agent {
  const identity = join(mkdtempSync(join(tmpdir(), "beeos-")), "id.json");
  return new Agent("test", { gateway: gateway.url, key: "oag_test", identity, log: false, ...options });
}

/** Runs an agent until the test ends. */
async function start(agent: Agent) {
  const run = agent.run({ handleSignals: false });
  stops.push(async () => {
    for (const id of open) gateway.send({ type: "ack", message_id: id });
    void agent.stop();
    await run;
  });
  return gateway.welcome("test");
}

const open = new Set<string>();

function say(id: string, body: string, more: Partial<Frame> = {}): void {
  open.add(id);
  gateway.send({ type: "chat_message", message_id: id, body, ...more });
}

function callTool(id: string, tool: string, args: unknown, payload: object = {}): void {
  say(id, "", { payload: { method: "tools/call", tool, arguments: args, ...payload } });
}

async function reply(): Promise<Frame> {
  for (;;) {
    const frame = await gateway.nextFrame();
    if (["reply", "error", "refuse", "busy"].includes(frame.type)) return frame;
  }
}

test("what a handler gives back is the answer", async () => {
  const agent = newAgent()
    .tool("text", { handler: () => "plain" })
    .tool("nothing", { handler: () => {} })
    .tool("object", { handler: async () => ({ sunny: true }) })
    .tool("list", { handler: () => [1, 2] })
    .tool("parts", {
      handler: async function* () {
        yield "see ";
        yield { type: "source", url: "https://example.com" };
        return "there";
      },
    });
  await start(agent);
  callTool("1", "text", {});
  assert.deepEqual(await reply(), { type: "reply", message_id: "1", body: "plain" });
  callTool("2", "nothing", {});
  assert.deepEqual(await reply(), { type: "reply", message_id: "2" });
  callTool("3", "object", {});
  assert.deepEqual(await reply(), { type: "reply", message_id: "3", body: '{"sunny":true}', parts: [{ type: "structured", data: { sunny: true } }] });
  callTool("4", "list", {});
  assert.deepEqual(await reply(), { type: "reply", message_id: "4", body: "[1,2]" });
  callTool("5", "parts", {});
  assert.deepEqual(await reply(), { type: "reply", message_id: "5", body: "see there", parts: [{ type: "source", url: "https://example.com" }] });
});

test("arguments that do not fit never reach the handler", async () => {
  const agent = newAgent().tool("forecast", {
    schema: z.object({ city: z.string().refine((city) => city !== "Atlantis", "there is no such city"), days: z.number().default(2) }),
    handler: ({ city, days }) => `${city} ${days}`,
  });
  await start(agent);
  callTool("1", "forecast", { city: "Oslo" });
  assert.equal((await reply()).body, "Oslo 2");
  const text = "the arguments do not fit: city: there is no such city";
  callTool("2", "forecast", { city: "Atlantis" }, { protocol: "mcp", revision: "2025-06-18" });
  assert.deepEqual(await reply(), {
    type: "error",
    message_id: "2",
    body: text,
    stop_reason: "error",
    payload: { error: { code: -32602, message: text, data: { code: "invalid_param" } } },
  });
  callTool("3", "forecast", { city: "Atlantis" }, { protocol: "mcp", revision: "2025-11-25" });
  assert.deepEqual(await reply(), { type: "reply", message_id: "3", body: text, is_error: true, stop_reason: "error" });
});

test("a cancelled generator is stopped and cleans up", async () => {
  let cleaned = false;
  const agent = newAgent().message(async function* (turn) {
    try {
      for (;;) {
        yield "more ";
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    } finally {
      cleaned = turn.signal.aborted;
    }
  });
  await start(agent);
  say("1", "go");
  await gateway.nextFrame();
  gateway.send({ type: "chat_cancel", message_id: "1", reason: "enough" });
  assert.deepEqual(await reply(), { type: "error", message_id: "1", body: "the answer was cancelled", stop_reason: "user_stop" });
  assert.ok(cleaned);
});

test("half a surrogate pair does not break a frame", async () => {
  await start(newAgent().message(() => "half \ud83d, escaped \\ud83d, whole 🐝"));
  say("1", "go");
  assert.equal((await reply()).body, "half \ufffd, escaped \\ud83d, whole 🐝");
});

test("an agent without a handler of messages says so", async () => {
  await start(newAgent().tool("one", { handler: () => "1" }));
  say("1", "hello");
  assert.deepEqual(await reply(), { type: "refuse", message_id: "1", body: "this agent does not chat; call one of its tools" });
  callTool("2", "two", {});
  assert.deepEqual(await reply(), { type: "reply", message_id: "2", body: 'this agent has no tool "two"', is_error: true, stop_reason: "error" });
});

const forecast = z.object({ city: z.string(), days: z.number().int().max(9).default(1) });
const plain = (properties: object, more: object = {}) => ({ type: "object", properties, required: ["city"], ...more }) as const;
const city = { type: "string", description: "Where." };
for (const [schema, said, want] of [
  [forecast, "Oslo", "Oslo 1"],
  [forecast, ' {"city": "Oslo", "days": 3}', "Oslo 3"],
  [forecast, '{"city": "Oslo", "days": 10}', "the arguments do not fit: days:"],
  [plain({ city }), "{Oslo", "{Oslo undefined"],
  [plain({ city }), '{"town": "Oslo"}', "the arguments do not fit: city is missing"],
  [plain({ city: { ...city, enum: ["Oslo"] } }), "Rome", "the arguments do not fit: city must be one of Oslo"],
  [plain({ city, days: { type: "integer" } }), '{"city": "Oslo", "days": 1.5}', "the arguments do not fit: days must be of type integer"],
  [plain({ city }, { additionalProperties: false }), '{"city": "Oslo", "x": 1}', "the arguments do not fit: there is no argument x"],
  [plain({ city }, { required: [] }), "Oslo", "this agent does not chat; call one of its tools"],
  [plain({ city, days: city }, { required: ["city", "days"] }), "Oslo", "this agent does not chat; call one of its tools"],
  [plain({ city: { ...city, pattern: "^O" } }), "Oslo", "this agent does not chat; call one of its tools"], // nothing here checks that
] as [JsonObject, string, string][]) {
  test(`an agent that is one tool, told ${said}: ${want}`, async () => {
    await start(newAgent().tool("forecast", { schema, handler: (args) => `${args.city} ${args.days}` }));
    say("1", said);
    const { body } = await reply();
    assert.ok(String(body).startsWith(want), String(body));
  });
}

test("what an agent offers can change while it runs", async () => {
  const agent = newAgent().tool("old", { handler: () => "old" });
  const declared = await start(agent);
  assert.deepEqual(declared.skills, [{ name: "old" }]);

  const change = agent.change(() => agent.removeTool("old").tool("new", { title: "New", hidden: true, handler: () => "new" }));
  const sync = await gateway.nextHttp();
  const { agents } = JSON.parse(sync.body) as { agents: [{ skills: unknown }] };
  assert.deepEqual(agents[0].skills, [{ name: "new", title: "New", exposeAsTool: false }]);
  sync.answer(200, `{"success":true,"data":{}}`);
  await change;
  callTool("1", "new", {});
  assert.equal((await reply()).body, "new");

  const refused = assert.rejects(agent.change(() => agent.removeTool("new")), /too few tools/);
  (await gateway.nextHttp()).answer(400, `{"success":false,"error":{"code":"invalid_param","message":"too few tools"}}`);
  await refused;
  callTool("2", "new", {});
  assert.equal((await reply()).body, "new");

  agent.resourceUpdated("note://1");
  assert.deepEqual(await gateway.nextFrame(), { type: "resource_updated", agent_id: "agent_1", uri: "note://1" });
});

test("a result that another server made goes through", async () => {
  const results: object[] = [
    { content: [{ type: "text", text: "a" }, { type: "text", text: "b" }], structuredContent: { n: 1 }, _meta: { k: 1 } },
    { content: [{ type: "hologram", data: "…" }], isError: true },
  ];
  await start(newAgent().tool("pass", { handler: (_args, turn) => turn.sendToolResult(results.shift() as { [name: string]: unknown }) }));
  callTool("1", "pass", {});
  assert.deepEqual(await reply(), {
    type: "reply",
    message_id: "1",
    body: "ab",
    parts: [{ type: "text", text: "a" }, { type: "text", text: "b" }, { type: "structured", data: { n: 1 } }],
    payload: { _meta: { k: 1 } },
  });
  callTool("2", "pass", {});
  assert.deepEqual(await reply(), {
    type: "reply",
    message_id: "2",
    is_error: true,
    stop_reason: "error",
    parts: [{ type: "hologram", data: "…" }],
    payload: { result: { content: [{ type: "hologram", data: "…" }], isError: true } },
  });
});

test("a connection that does not move holds a streaming handler back", async () => {
  const piece = "x".repeat(64 << 10);
  const all = 384; // 24 MiB, more than the system takes on its own account
  let made = 0;
  await start(
    newAgent().message(async function* () {
      for (; made < all; made++) yield piece;
    }),
  );
  say("1", "go");
  gateway.pause();
  for (let before = -1; before !== made; ) {
    before = made;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  assert.ok(made < all, `${made} pieces were made for nobody`);
  gateway.resume();
  let got = 0;
  for (let frame = await gateway.nextFrame(); frame.type !== "reply"; frame = await gateway.nextFrame()) got += frame.text!.length;
  assert.equal(got, all * piece.length);
});

test("a gateway that is silent is asked something, and left when it does not answer", async () => {
  await start(newAgent().message(() => "hi"));
  gateway.send({ type: "hello", agents: { test: "agent_1" }, heartbeat_ms: 600 });
  const probe = await gateway.nextFrame();
  assert.equal(probe.type, "working");
  gateway.send({ type: "chat_cancel", message_id: probe.message_id!, reason: "the request has ended" });
  assert.equal((await gateway.nextFrame()).type, "working"); // it has not left
  await gateway.welcome("test"); // and now it comes again
  say("1", "still there?");
  assert.equal((await reply()).body, "hi");
});

test("what stops the agent before it begins", async () => {
  assert.throws(() => new Agent(""), /name/);
  assert.throws(() => newAgent().tool("a", {}).tool("a", {}), /two tools are called "a"/);
  await assert.rejects(newAgent({ gateway: "localhost:8083" }).run(), /AGENT_GATEWAY_URL/);
});

test("steps end with their work", async () => {
  await start(
    newAgent().message(async (turn) => {
      const found = await turn.step("search", "retrieval", async (step) => {
        step.set("query", "bees").tokens("small", { input: 3, output: 1 });
        await assert.rejects(step.step("fetch", "tool", () => Promise.reject(new Error("no route"))));
        return 7;
      });
      return String(found);
    }),
  );
  say("1", "go");
  const { body, steps } = (await reply()) as { body: string; steps: { name: string; parent?: number; error?: string; took_us: number }[] };
  assert.equal(body, "7");
  assert.deepEqual(steps.map(({ name, parent, error }) => ({ name, parent, error })), [
    { name: "search", parent: undefined, error: undefined },
    { name: "fetch", parent: 1, error: "no route" },
  ]);
  assert.ok(steps.every((step) => step.took_us >= 0));
});
