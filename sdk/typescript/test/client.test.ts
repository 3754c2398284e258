import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, test } from "node:test";
import { BeeosError, Client, readWebhook, UnreachableError } from "../src/index.ts";

const agentId = "agent_abcdefghijklmnop";

type Answer = (response: ServerResponse, body: Record<string, unknown>, request: IncomingMessage) => void;

let server: Server;
let client: Client;
let answers: Answer[];
let seen: { method: string; url: string; body: Record<string, unknown> }[];

beforeEach(async () => {
  answers = [];
  seen = [];
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString()));
    request.on("end", () => {
      const body = (text.startsWith("{") ? JSON.parse(text) : {}) as Record<string, unknown>;
      seen.push({ method: request.method!, url: request.url!, body });
      const answer = answers.shift();
      if (answer) answer(response, body, request);
      else response.writeHead(500).end("nobody expected this");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = new Client({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/`, key: "oag_test\n" });
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function data(value: unknown): Answer {
  return (response) => response.end(JSON.stringify({ success: true, data: value }));
}

function refusal(status: number, code: string, headers: Record<string, string> = {}): Answer {
  return (response) => response.writeHead(status, headers).end(JSON.stringify({ success: false, error: { code, message: "no" } }));
}

const hangUp: Answer = (response) => response.destroy();

function events(...lines: string[]): Answer {
  return (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const line of lines) response.write(line);
    response.end();
  };
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

test("a call is tried again under the same key", async () => {
  answers = [hangUp, refusal(409, "conflict"), refusal(503, "agent_service_unavailable"), data({ text: "hi", context_id: "ch-1" })];
  const answer = await client.call(agentId, "hello", { contextId: "ch-1", metadata: { k: "v" } });
  assert.deepEqual(answer, { text: "hi", contextId: "ch-1", isError: false, parts: [], files: [] });
  assert.equal(seen.length, 4);
  assert.equal(new Set(seen.map(({ body }) => body.idempotency_key)).size, 1);
  assert.match(String(seen[0]!.body.idempotency_key), /^[0-9a-f-]{36}$/);
  assert.deepEqual({ ...seen[0]!.body, idempotency_key: "" }, { message: "hello", context_id: "ch-1", metadata: { k: "v" }, idempotency_key: "" });
});

test("what may not be repeated is not", async () => {
  answers = [hangUp];
  await assert.rejects(client.call(agentId, "hello", { idempotencyKey: null }), UnreachableError);
  assert.equal("idempotency_key" in seen[0]!.body, false);
  answers = [refusal(409, "conflict")];
  await assert.rejects(client.call(agentId, "hello"), (error: unknown) => error instanceof BeeosError && error.code === "conflict");
  assert.equal(seen.length, 2);
});

test("a limit says how long to wait", async () => {
  answers = [refusal(429, "rate_limited", { "Retry-After": "0" }), data({ text: "hi" })];
  assert.equal((await client.call(agentId, "hello")).text, "hi");
  answers = Array.from({ length: 4 }, () => refusal(429, "rate_limited", { "Retry-After": "0" }));
  await assert.rejects(client.call(agentId, "hello"), (error: unknown) => error instanceof BeeosError && error.retryAfterMs === 0);
});

test("an answer is streamed", async () => {
  answers = [
    events(
      'data: {"type":"reasoning","text":"hm"}\n\n',
      'data: {"type":"delta","text":"h',
      'é"}\r\n\r\n: comment\n\n',
      'data: {"type":"news"}\n\ndata: {"type":"done","text":"hé","context_id":"ch-1","parts":[{"type":"file","url":"u","mime_type":"m"}]}\n\n',
    ),
  ];
  const got = await collect(client.stream(agentId, "hello"));
  const file = { type: "file", url: "u", mime_type: "m" };
  assert.deepEqual(got, [
    { type: "reasoning", text: "hm" },
    { type: "delta", text: "hé" },
    { type: "done", answer: { text: "hé", contextId: "ch-1", isError: false, parts: [file], files: [file] } },
  ]);
  answers = [events('data: {"type":"delta","text":"h"}\n\n')];
  await assert.rejects(collect(client.stream(agentId, "hello")), /before the answer was complete/);
  answers = [events('data: {"type":"error","code":"service_timeout","message":"late"}\n\n')];
  await assert.rejects(collect(client.stream(agentId, "hello")), (error: unknown) => error instanceof BeeosError && error.code === "service_timeout");
});

test("agents are found by name, once", async () => {
  const page = { data: [{ id: agentId, name: "weather", slug: "weather-1" }], total: 1 };
  answers = [(response) => response.end(JSON.stringify(page)), data({ text: "1" }), data({ text: "2" })];
  await client.call("weather", "a");
  await client.call("weather", "b");
  assert.deepEqual(seen.map(({ url }) => url), ["/api/v1/agents?limit=100&offset=0", `/api/v1/agents/${agentId}/invoke`, `/api/v1/agents/${agentId}/invoke`]);
  answers = [(response) => response.end(JSON.stringify(page))];
  await assert.rejects(client.call("wetter", "a"), /no agent is called "wetter"/);
});

test("a task is followed over broken connections", async () => {
  const message = (offset: number, type: string, body: string) => `event: message\ndata: ${JSON.stringify({ offset, type, body })}\n\n`;
  answers = [
    (response) => {
      response.writeHead(200);
      response.write(message(1, "chat_message", "go"));
      setImmediate(() => response.destroy());
    },
    refusal(503, "agent_service_unavailable"),
    events(message(2, "agent_reply_delta", "do"), 'event: end\ndata: {"reason":"stream_closed"}\n\n'),
    events(message(3, "agent_reply", "done"), 'event: end\ndata: {"reason":"task_terminal"}\n\n'),
  ];
  const got = await collect(client.tasks.watch(agentId, "t1"));
  assert.deepEqual(got.map(({ message: { body }, delta }) => [body, delta]), [["go", false], ["do", true], ["done", false]]);
  assert.deepEqual(seen.map(({ url }) => new URL(url, "http://x").searchParams.get("since")), ["0", "1", "1", "2"]);
});

test("a wrong address says so", async () => {
  answers = [(response) => response.writeHead(404).end("<html>")];
  await assert.rejects(client.call(agentId, "hello"), /check the URL/);
  assert.throws(() => new Client({ url: "localhost:8095", key: "k" }), /http:\/\/host/);
});

test("a signal ends a call", async () => {
  const controller = new AbortController();
  answers = [() => controller.abort(new Error("enough"))];
  await assert.rejects(client.call(agentId, "hello", { signal: controller.signal }), /enough/);
});

test("a webhook with a bad signature is refused", async () => {
  const request = new Request("http://localhost/hook", { method: "POST", body: "{}", headers: { "x-beeos-signature": "t=1,v1=00" } });
  await assert.rejects(readWebhook(request, "0123456789abcdef"), /not good/);
});
