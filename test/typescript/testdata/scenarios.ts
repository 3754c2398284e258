/** The agent that the tests talk to: one tool for each thing that a turn can do. */
import { Agent, Client, Denied, readWebhook, verifyWebhook, type Turn, type WebhookEvent } from "@beeos/sdk";
import { on, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";

const agent = new Agent("scenarios", {
  description: "Does what a test asks for.",
  redelivery: "always",
  onConnected: (id) => console.log("connected", id),
});

agent.tool("forecast", {
  description: "The forecast for a city.",
  schema: z.object({ city: z.string().refine((city) => city !== "Atlantis", "there is no such city"), days: z.number().int().default(1) }),
  annotations: { readOnlyHint: true },
  handler: ({ city, days }) => ({ city, days, sunny: true }),
});

agent.tool("count", {
  schema: z.object({ to: z.number().int() }),
  handler: async function* ({ to }, turn) {
    for (let i = 1; i <= to; i++) {
      await turn.progress(i, to, `at ${i}`);
      yield `${i} `;
    }
  },
});

/** Waits until nobody wants the answer any more. */
agent.tool("wait", {
  handler: async (_args, turn) => {
    console.log("waiting");
    await turn.progress(1);
    await pause(60_000, undefined, { signal: turn.signal }).catch(() => {});
    console.log("ended by", turn.signal.reason.why);
    turn.signal.throwIfAborted();
  },
});

agent.tool("greet", {
  handler: async (_args, turn) => {
    const answer = await turn.elicit("What is your name?", z.object({ name: z.string() }));
    return answer.action === "accept" ? `Hello, ${answer.content.name}!` : "Hello, stranger!";
  },
});

agent.tool("confirm", {
  handler: (_args, turn) => {
    const { state, input } = turn.message;
    if (state === "asked" && input.sure) return `confirmed: ${JSON.stringify(input.sure)}`;
    const requestedSchema = { type: "object", properties: { ok: { type: "boolean" } } };
    turn.needInput({ sure: { method: "elicitation/create", params: { message: "Sure?", requestedSchema } } }, "asked");
  },
});

agent.tool("save", {
  schema: z.object({ path: z.string() }),
  handler: async (args, turn) => {
    try {
      await turn.approve("write_file", args);
    } catch (error) {
      if (error instanceof Denied) return `not saved: ${error.reason}`;
      throw error;
    }
    return `saved ${args.path}`;
  },
});

agent.tool("echo", { schema: { type: "object" }, handler: (args) => args });

/** Work that is told of in a step. */
async function work(text: string, turn: Turn): Promise<string> {
  await turn.step("think", "model", async (step) => {
    step.tokens("small", { input: 3, output: 4 });
    await pause(Math.random() * 30);
  });
  return `done ${text}`;
}

agent.tool("work", { schema: z.object({ text: z.string() }), handler: ({ text }, turn) => work(text, turn) });

const talks: Record<string, (turn: Turn) => AsyncGenerator<string, string | undefined>> = {
  async *pause(turn) {
    yield "Wait. ";
    const { text } = await turn.inputRequired("Which one?");
    return `You chose ${text}.`;
  },
  async *files(turn) {
    const texts = await Promise.all(turn.attachments.map((file) => file.text()));
    yield texts.join();
    await turn.attach("answer.txt", "text/plain", texts.join().toUpperCase());
    return undefined;
  },
  async *history(turn) {
    const before = await turn.history();
    yield before.map((message) => message.body).join("|");
    return undefined;
  },
  async *neighbour(turn) {
    yield `${await turn.call("weather", "hello")}, ${await turn.callTool("weather", "forecast", { city: "Bern" })}`;
    return undefined;
  },
  async *fail() {
    yield "almost";
    throw new Error("the disk is full");
  },
};

agent.message(async function* (turn) {
  const talk = talks[turn.text];
  if (talk) return yield* talk(turn);
  yield "you said: ";
  return turn.text;
});

agent.resource("note://{name}", { name: "note", mimeType: "text/plain", read: (uri) => `the note at ${uri}` });
agent.prompt("greet", { arguments: [{ name: "who", required: true }], handler: ({ who }) => `Say hello to ${who}.` });
agent.completions(({ argument }) => ["Ada", "Alan"].filter((name) => name.startsWith(argument.value)));

/** A task tells a receiver how it goes, once more when it is asked to, and no more when it is told to stop. */
async function hearOfTask(client: Client, name: string): Promise<void> {
  const secret = "0123456789abcdef";
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const deliveries = on(server, "request") as AsyncIterableIterator<[IncomingMessage, ServerResponse]>;
  /** The next delivery of a status, as a receiver with its own server reads it, and as one with a framework does. */
  const hear = async (status: string): Promise<WebhookEvent> => {
    for (;;) {
      const { value: [request, response] } = await deliveries.next() as { value: [IncomingMessage, ServerResponse] };
      const body = Buffer.concat(await request.toArray());
      response.writeHead(204).end();
      const { headers } = request;
      if (!verifyWebhook(secret, headers, body)) throw new Error("the signature is not good");
      if (verifyWebhook(secret, headers, `${body} `) || verifyWebhook("fedcba9876543210", headers, body)) throw new Error("any signature is good");
      const event = await readWebhook(new Request("http://hook", { method: "POST", body, headers: headers as Record<string, string> }), secret);
      if (event.status === status) return event;
    }
  };
  const { task_id: task } = await client.tasks.create(name, "pause");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const hook = await client.tasks.addWebhook(name, task, { url, secret });
  const asked = await hear("input_required");
  await client.tasks.continue(name, task, "this one");
  const told = await hear("completed");
  console.log("webhook", asked.final, told.final, told.task_id === task, (await client.tasks.webhooks(name, task)).map(({ has_secret }) => has_secret));
  const newest = async () => (await client.tasks.deliveries(name, task, hook.webhook_id))[0];
  while ((await newest())?.status !== "succeeded") await pause(20); // it is noted after we have answered
  const last = await newest();
  await client.tasks.redeliver(name, task, hook.webhook_id, last!.delivery_id);
  console.log("again", (await hear("completed")).final, (await client.tasks.deliveries(name, task, hook.webhook_id, { limit: 1 })).length);
  await client.tasks.removeWebhook(name, task, hook.webhook_id);
  console.log("removed", await client.tasks.webhooks(name, task));
  server.closeAllConnections();
  server.close();
}

if (process.argv[2] === "call") {
  // The client, in the same program: what it prints is compared.
  const client = new Client();
  const [, , , name = "", task = ""] = process.argv;
  for await (const event of client.stream(name, "hello")) console.log(event.type, event.type === "done" ? event.answer.text : event.text);
  const tool = await client.callTool(name, "forecast", { city: "Oslo", days: 2 });
  console.log("tool", JSON.stringify(tool.structured), tool.isError);
  const conversation = await client.conversations.create(name, "talk");
  await client.conversations.ask(name, conversation.conversation_id, "one");
  const reply = await client.conversations.ask(name, conversation.conversation_id, "history");
  console.log("conversation", reply.body);
  const file = await client.files.upload("note.txt", "text/plain", "hello file");
  const answer = await client.call(name, "files", { attachments: [{ fileId: file.fileId }] });
  const made = await client.files.download(answer.files[0]!.file_id!);
  console.log("files", answer.text, await made.text());
  const attachments = [{ fileId: file.fileId, filename: "renamed.txt" }];
  const read = await client.tasks.create(name, "files", { attachments });
  console.log("task", (await client.tasks.wait(name, read.task_id)).result?.text);
  console.log("conversation", (await client.conversations.ask(name, conversation.conversation_id, "files", { attachments })).body);
  const paused = await client.tasks.create(name, "pause", { metadata: { task } });
  const asked = await client.tasks.wait(name, paused.task_id);
  console.log("task", asked.status, asked.question?.text);
  await client.tasks.continue(name, paused.task_id, "the second");
  const done = await client.tasks.wait(name, paused.task_id);
  console.log("task", done.status, done.result?.text);
  await hearOfTask(client, name);
  const error = await client.call("nobody", "hello").catch((caught: { code: string }) => caught.code);
  console.log("refused", error);
} else {
  await agent.run();
}
