/** Plays the transcripts that all SDKs share; sdk/spec/README.md says how they read. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, describe, test } from "node:test";
import type { Agent, AgentOptions, JsonObject } from "../src/index.ts";
import { FakeGateway, type HttpEntry } from "./fakegateway.ts";
import { Gates, makeFixture } from "./fixture.ts";

const spec = fileURLToPath(new URL("../../spec/", import.meta.url));

interface Transcript {
  protocol: number;
  about: string;
  agent?: { concurrency?: number; delivery_mode?: string; lane?: string; redelivery?: string; timeout_ms?: number };
  opening?: string;
  talk: JsonObject[];
}

describe("transcripts", () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), "beeos-"))));
  after(() => rmSync(folder, { recursive: true }));

  const names = readdirSync(join(spec, "transcripts"));
  assert.ok(names.length > 10);
  for (const name of names) {
    test(name, { timeout: 30_000 }, async () => {
      const transcript = JSON.parse(readFileSync(join(spec, "transcripts", name), "utf8")) as Transcript;
      assert.equal(transcript.protocol, 1);
      const gateway = await FakeGateway.start();
      const player = new Player(gateway, transcript, join(folder, name));
      try {
        await player.play();
      } finally {
        void player.agent.stop();
        gateway.stop();
      }
    });
  }
});

/** Plays one transcript. */
class Player {
  readonly gateway: FakeGateway;
  readonly transcript: Transcript;
  readonly gates = new Gates();
  readonly agent: Agent;
  readonly run: Promise<unknown>;
  readonly bound = new Map<string, unknown>();
  refusedConnect: { status: number; answer: string } | undefined;

  constructor(gateway: FakeGateway, transcript: Transcript, identity: string) {
    this.gateway = gateway;
    this.transcript = transcript;
    const { concurrency, delivery_mode, lane, redelivery, timeout_ms } = transcript.agent ?? {};
    const options = { concurrency, deliveryMode: delivery_mode, lane, redelivery, timeoutMs: timeout_ms } as AgentOptions;
    this.agent = makeFixture({ ...options, gateway: gateway.url, key: "oag_test", identity, log: false }, this.gates);
    this.run = this.agent.run({ handleSignals: false }).then(() => undefined, (error: unknown) => error); // its error is a value
  }

  async play(): Promise<void> {
    if (this.transcript.opening !== "spelled out") await this.gateway.welcome("fixture");
    for (const [number, step] of this.transcript.talk.entries()) {
      try {
        await this.playStep(step);
      } catch (error) {
        (error as Error).message = `step ${number + 1}, ${JSON.stringify(step).slice(0, 200)}: ${(error as Error).message}`;
        throw error;
      }
    }
    if (this.transcript.talk.some((step) => typeof step.ended === "string")) return;
    void this.agent.stop();
    assert.equal(await this.run, undefined);
    const left = this.gateway.left.map((entry) => (entry.kind === "frame" ? entry.frame : entry.path));
    assert.deepEqual(left.filter((frame) => typeof frame === "string" || frame.type !== "drain"), []);
  }

  async playStep(step: JsonObject): Promise<void> {
    const [act] = Object.keys(step);
    switch (act) {
      case "in": {
        const frames = Array.isArray(step.in) ? (step.in as unknown[]) : [step.in];
        return this.gateway.send(...frames.map((frame) => this.fill(frame) as JsonObject | string));
      }
      case "out":
        return Array.isArray(step.out) ? this.expectAll(step.out as unknown[]) : this.expectFrame(step.out);
      case "http":
        return this.playRequest(step.http as JsonObject);
      case "connect": {
        const entry = await this.gateway.nextHttp();
        assert.match(entry.path, /^\/api\/v1\/agents\/connect\?agents=fixture$/);
        this.gateway.checkSignature(entry);
        assert.ok(entry.accept, "it does not ask for a WebSocket");
        return entry.accept();
      }
      case "break":
        return this.gateway.breakConnection();
      case "close":
        return this.gateway.closeConnection(step.close as number);
      case "reached":
        return this.gates.reached(step.reached as string);
      case "release":
        return this.gates.release(step.release as string);
      case "stop":
        return void this.agent.stop();
      case "ended": {
        const error = await this.run;
        if (typeof step.ended === "string") assert.match(String(error), new RegExp(step.ended));
        else assert.equal(error, undefined);
        return;
      }
    }
    throw new Error(`there is no step ${act}`);
  }

  async expectFrame(expected: unknown): Promise<void> {
    const frame = await this.gateway.nextFrame();
    assert.equal(this.misfit(withoutEmpty(expected), withoutEmpty(frame), ""), undefined);
  }

  /** The next frames are these, in whichever order. */
  async expectAll(expected: unknown[]): Promise<void> {
    const wanted = [...expected];
    while (wanted.length > 0) {
      const frame = await this.gateway.nextFrame();
      const bound = new Map(this.bound);
      const found = wanted.findIndex((one) => {
        this.bound.clear();
        for (const [name, value] of bound) this.bound.set(name, value);
        return this.misfit(withoutEmpty(one), withoutEmpty(frame), "") === undefined;
      });
      assert.ok(found >= 0, `${JSON.stringify(frame)} is none of ${JSON.stringify(wanted)}`);
      wanted.splice(found, 1);
    }
  }

  async playRequest(expected: JsonObject): Promise<void> {
    const { method, path, authorization, headers = {}, body, status = 200, answer } = expected;
    const text = typeof answer === "string" ? answer : JSON.stringify(this.fill(answer));
    let entry = await this.gateway.nextHttp();
    const { refusedConnect } = this;
    if (refusedConnect && entry.path.endsWith("/sync") && path !== entry.path) {
      // A WebSocket does not tell why it was refused; this SDK hears it from the request that it makes next.
      entry.answer(refusedConnect.status, refusedConnect.answer);
      entry = await this.gateway.nextHttp();
    }
    this.refusedConnect = entry.accept ? { status: status as number, answer: text } : undefined;
    assert.equal(`${entry.method} ${entry.path}`, `${method} ${path}`);
    this.checkAuthorization(entry, authorization as string | undefined);
    for (const [name, value] of Object.entries(headers as Record<string, string>)) assert.equal(entry.headers[name.toLowerCase()], value);
    if (typeof body === "string") assert.equal(entry.body, body);
    else if (body) assert.equal(this.misfit(withoutEmpty(body), withoutEmpty(JSON.parse(entry.body)), ""), undefined);
    entry.answer(status as number, text);
  }

  checkAuthorization(entry: HttpEntry, expected: string | undefined): void {
    if (entry.path.endsWith("/join")) this.gateway.publicKey = (JSON.parse(entry.body) as { public_key: string }).public_key;
    if (expected === undefined) this.gateway.checkSignature(entry);
    else assert.equal(entry.headers.authorization ?? "", expected);
  }

  /** Says where a value is not what was expected; undefined = it is. */
  misfit(expected: unknown, actual: unknown, at: string): string | undefined {
    if (isRepeat(expected)) return expected.$repeat[0].repeat(expected.$repeat[1]) === actual ? undefined : `${at}: another long text`;
    if (typeof expected === "string" && expected.startsWith("$")) return this.misfitName(expected, actual, at);
    if (Array.isArray(expected) && Array.isArray(actual)) {
      if (expected.length !== actual.length) return `${at}: ${actual.length} elements, want ${expected.length}`;
      return expected.map((one, i) => this.misfit(one, actual[i], `${at}[${i}]`)).find((text) => text !== undefined);
    }
    if (isPlain(expected) && isPlain(actual)) {
      const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
      return [...names].map((name) => this.misfit(expected[name], actual[name], `${at}.${name}`)).find((text) => text !== undefined);
    }
    return Object.is(expected, actual) || expected === actual ? undefined : `${at}: ${JSON.stringify(actual)}, want ${JSON.stringify(expected)}`;
  }

  misfitName(expected: string, actual: unknown, at: string): string | undefined {
    if (expected === "$any") return undefined;
    if (expected.startsWith("$gateway")) return this.misfit(this.gateway.url + expected.slice("$gateway".length), actual, at);
    if (actual === undefined) return `${at}: nothing, want something`;
    const name = expected.slice(1);
    if (this.bound.has(name)) return this.misfit(this.bound.get(name), actual, at);
    this.bound.set(name, actual);
    return undefined;
  }

  /** What the gateway sends, with names replaced by what they stand for. */
  fill(value: unknown): unknown {
    if (isRepeat(value)) return value.$repeat[0].repeat(value.$repeat[1]);
    if (typeof value === "string") {
      if (value.startsWith("$gateway")) return this.gateway.url + value.slice("$gateway".length);
      return value.startsWith("$") && this.bound.has(value.slice(1)) ? this.bound.get(value.slice(1)) : value;
    }
    if (Array.isArray(value)) return value.map((one) => this.fill(one));
    if (isPlain(value)) return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.fill(one)]));
    return value;
  }
}

function isPlain(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isRepeat(value: unknown): value is { $repeat: [string, number] } {
  return isPlain(value) && "$repeat" in value;
}

/** A frame without members that say nothing. */
function withoutEmpty(value: unknown): unknown {
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, one]) => (typeof one === "object" && one !== null ? Object.keys(one).length > 0 : Boolean(one))));
}
