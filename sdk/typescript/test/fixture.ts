/** The agent that plays transcripts: sdk/spec/README.md says what it has and does. */
import { Agent, type AgentOptions, type JsonObject, type LogLevel, type Part, type Question, type Step, type StepKind, type Turn } from "../src/index.ts";

type Operation = { [name: string]: any };

/** Where handlers wait, and what lets them go on. */
export class Gates {
  readonly #gates = new Map<string, { reached: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> }>();

  #gate(name: string) {
    let gate = this.#gates.get(name);
    if (!gate) this.#gates.set(name, (gate = { reached: Promise.withResolvers(), released: Promise.withResolvers() }));
    return gate;
  }

  async wait(name: string, signal: AbortSignal): Promise<void> {
    const gate = this.#gate(name);
    gate.reached.resolve();
    await Promise.race([gate.released.promise, aborted(signal)]);
  }

  reached(name: string): Promise<void> {
    return this.#gate(name).reached.promise;
  }

  release(name: string): void {
    this.#gate(name).released.resolve();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

export function makeFixture(options: AgentOptions, gates: Gates): Agent {
  const agent = new Agent("fixture", { ...options, description: "Plays transcripts." });
  agent.message(async function* (turn) {
    yield "you said: ";
    return turn.text;
  });
  agent.tool("script", {
    description: "Does what it is told.",
    schema: { type: "object", properties: { do: { type: "array", items: { type: "object" } } }, required: ["do"] },
    handler: async (args, turn) => {
      await new Script(turn, gates).run(args.do, undefined);
    },
  });
  agent.resource("note://{name}", { name: "note", description: "A note.", mimeType: "text/plain", read: (uri) => `the note at ${uri}` });
  agent.prompt("greet", {
    description: "Greets somebody.",
    arguments: [{ name: "who", required: true }],
    handler: ({ who }) => `Say hello to ${who}.`,
  });
  agent.completions(({ argument }) => [`${argument.value}a`, `${argument.value}b`]);
  return agent;
}

/** One turn's operations. */
class Script {
  readonly turn: Turn;
  readonly gates: Gates;
  last: any;

  constructor(turn: Turn, gates: Gates) {
    this.turn = turn;
    this.gates = gates;
  }

  async run(operations: Operation[], step: Step | undefined): Promise<void> {
    for (const operation of operations) {
      const [name, given] = Object.entries(operation)[0]!;
      const act = this.acts[name];
      if (!act) throw new Error(`the fixture does not know the operation ${name}`);
      const result = await act(given === "$last" ? this.last : given, step);
      if (result !== undefined) this.last = result;
    }
  }

  readonly acts: Record<string, (given: any, step: Step | undefined) => unknown> = {
    delta: (text: string) => this.turn.delta(text),
    reasoning: (text: string) => this.turn.reasoning(text),
    progress: ([done, total, text]: [number, number, string]) => this.turn.progress(done, total, text),
    log: ([level, logger, data]: [LogLevel, string, unknown]) => this.turn.log(level, data, logger),
    background: () => this.turn.background(),
    part: (part: Part) => this.turn.addPart(part),
    text: (text: string) => this.turn.addText(text),
    image: ([type, data]: [string, string]) => this.turn.addImage(type, Buffer.from(data, "base64")),
    audio: ([type, data]: [string, string]) => this.turn.addAudio(type, Buffer.from(data, "base64")),
    resource: ([uri, type, text]: [string, string, string]) => this.turn.addResource(uri, type, text),
    resource_link: ([uri, name, type]: [string, string, string]) => this.turn.addResourceLink(uri, name, type),
    structured: (value: unknown) => this.turn.addStructured(value),
    result: (value: JsonObject) => this.turn.result(value),
    meta: (value: JsonObject) => this.turn.meta(value),
    remember: (value: unknown) => this.turn.remember(value),
    direct: () => this.turn.direct(),
    send: (text: string) => this.turn.send(text),
    correct: (text: string) => this.turn.correct(text),
    fail: (text: string) => this.turn.fail(text),
    refuse: (text: string) => this.turn.refuse(text),
    busy: (text: string) => this.turn.busy(text),
    fault: ([code, message, data]: [number, string, unknown]) => this.turn.fault(code, message, data),
    raise: (text: string) => {
      throw new Error(text);
    },
    crash: () => (undefined as unknown as { nothing: { there: string } }).nothing.there,
    step: (given, within) => this.step(given, within),
    usage: ([model, input, output, costUSD]: [string, number, number, number]) => this.turn.usage(model, { input, output, costUSD }),
    elicit: ([text, schema]: [string, JsonObject]) => this.turn.elicit(text, schema),
    sample: (params: JsonObject) => this.turn.sample(params),
    roots: () => this.turn.roots(),
    ask_all: (questions: Record<string, Question>) => this.turn.askAll(questions),
    call: ([agent, text]: [string, string], step) => this.turn.call(agent, text, step ? { step } : {}),
    call_tool: ({ agent, tool, arguments: args, key }, step) => this.turn.callTool(agent, tool, args, { key, ...(step && { step }) }),
    approve: ([tool, args]: [string, unknown]) => this.turn.approve(tool, args),
    gate: ({ tool, arguments: args, ...options }) => this.turn.approve(tool, args, options),
    input_required: async ([text, payload]: [string, unknown]) => textAndPayload(await this.turn.inputRequired(text, payload)),
    auth_required: async ([text, payload]: [string, unknown]) => textAndPayload(await this.turn.authRequired(text, payload)),
    need_input: ([questions, state]: [Record<string, Question>, string]) => this.turn.needInput(questions, state),
    history: async () => (await this.turn.history()).map((message) => message.body),
    attach: async ([name, type, text]: [string, string, string]) => (await this.turn.attach(name, type, text)).fileId,
    download: (index: number) => this.turn.attachments[index]!.text(),
    message: () => this.message(),
    wait_for: (name: string) => this.gates.wait(name, this.turn.signal),
  };

  async step(given: { name: string; kind?: StepKind; set?: Record<string, string>; tokens?: [string, number, number]; error?: string; do?: Operation[] }, within: Step | undefined): Promise<void> {
    const step = (within ?? this.turn).step(given.name, given.kind);
    for (const [name, value] of Object.entries(given.set ?? {})) step.set(name, value);
    if (given.tokens) step.tokens(given.tokens[0], { input: given.tokens[1], output: given.tokens[2] });
    await this.run(given.do ?? [], step);
    step.end(given.error);
  }

  message(): JsonObject {
    const { id, channel, offset, from, text, protocol, attempt, metadata, state, input, trace } = this.turn.message;
    const can = ["elicitation", "sampling", "roots", "progress"].filter((what) => this.turn.can(what));
    const all = { id, channel, offset, from, text, protocol, attempt, metadata, can, state, input, traceparent: trace?.parent };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value && (typeof value !== "object" || Object.keys(value).length > 0)));
  }
}

function textAndPayload({ text, payload }: { text: string; payload: unknown }): JsonObject {
  return { text, payload };
}
