import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { newId } from "../src/ids.ts";
import { Identity } from "../src/identity.ts";
import { fileName, Settings } from "../src/settings.ts";
import { parseTrace } from "../src/trace.ts";

const names = ["AGENT_GATEWAY_URL", "BEEOS_KEY", "BEEOS_JOIN_TOKEN", "BEEOS_DATA", "XDG_CONFIG_HOME"];
let before: Record<string, string | undefined>;
let home: string;

beforeEach(() => {
  before = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  for (const name of names) delete process.env[name];
  home = mkdtempSync(join(tmpdir(), "beeos-"));
  process.env.BEEOS_DATA = join(home, "data");
  process.env.XDG_CONFIG_HOME = join(home, "config");
});

afterEach(() => {
  for (const name of names) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
});

function writeDev(agents: string): void {
  mkdirSync(join(home, "data"), { recursive: true });
  writeFileSync(join(home, "data", "dev.json"), JSON.stringify({ agents, user_key: "oag_dev" }));
}

describe("settings", () => {
  test("nothing at all", () => {
    const settings = new Settings("echo", {});
    assert.equal(settings.gateway, "http://localhost:8083");
    assert.throws(() => settings.credential(), /run `beeos dev` here/);
  });

  test("options come before the environment, and that before dev.json", () => {
    writeDev("http://127.0.0.1:1/");
    assert.equal(new Settings("echo", {}).gateway, "http://127.0.0.1:1");
    process.env.AGENT_GATEWAY_URL = "http://localhost:2";
    assert.equal(new Settings("echo", {}).gateway, "http://localhost:2");
    assert.equal(new Settings("echo", { gateway: "http://localhost:3/" }).gateway, "http://localhost:3");
  });

  test("a token comes before a key, and that before dev.json", () => {
    writeDev("http://127.0.0.1:1");
    assert.deepEqual(new Settings("echo", {}).credential(), { key: "oag_dev", from: join(home, "data", "dev.json"), local: true });
    process.env.BEEOS_KEY = "oag_env";
    assert.equal(new Settings("echo", {}).credential().key, "oag_env");
    process.env.BEEOS_JOIN_TOKEN = "bjt_env";
    assert.equal(new Settings("echo", { key: "oag_option" }).credential().token, "bjt_env");
  });

  test("dev's key goes to dev's gateway alone", () => {
    writeDev("http://127.0.0.1:1");
    assert.equal(new Settings("echo", { gateway: "http://localhost:1" }).credential().key, "oag_dev");
    assert.throws(() => new Settings("echo", { gateway: "http://localhost:2" }).credential(), /nothing to join/);
  });

  test("every name has a file of its own", () => {
    assert.equal(fileName("my-bot_1"), "my-bot_1");
    assert.equal(fileName("café bar"), "caf-bar-77c27f21"); // as the Go SDK names it
    assert.notEqual(fileName("a b"), fileName("a-b"));
    assert.notEqual(fileName("a b"), fileName("a/b"));
    assert.match(fileName("../x"), /^-x-[0-9a-f]{8}$/);
  });
});

describe("identity", () => {
  test("is made once, for its user's eyes only", () => {
    const path = join(home, "config", "beeos", "agents", "echo.json");
    assert.equal(new Settings("echo", {}).identity, path);
    const made = Identity.open(path);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    made.joined("http://a", "inst_1");
    assert.equal(Identity.open(path).instanceAt("http://a"), "inst_1");
    const { private_key } = JSON.parse(readFileSync(path, "utf8")) as { private_key: string };
    assert.equal(Buffer.from(private_key, "base64").length, 32);
    made.forget("http://a");
    assert.equal(made.instanceAt("http://a"), undefined);
  });

  test("a file that is none is left alone", () => {
    const path = join(home, "id.json");
    for (const text of ["{}", "null", "no JSON", '{"private_key":"AAAA"}']) {
      writeFileSync(path, text);
      assert.throws(() => Identity.open(path), /move it away/);
      assert.equal(readFileSync(path, "utf8"), text);
    }
  });

  test("a folder that cannot be made says what to do", () => {
    writeFileSync(join(home, "file"), "");
    assert.throws(() => Identity.open(join(home, "file", "deep", "id.json")), /option identity/);
  });
});

test("ids rise and are UUIDs of version 7", () => {
  const ids = Array.from({ length: 5000 }, newId);
  assert.deepEqual([...ids].sort(), ids);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)));
});

test("a trace that is malformed is none", () => {
  const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  assert.deepEqual(parseTrace(good, "a=1\t"), { parent: good, state: "a=1" });
  assert.deepEqual(parseTrace(good.replace("00-", "7f-") + "-more"), { parent: good, state: "" });
  assert.equal(parseTrace(good, "é")?.state, "");
  for (const bad of ["", "x", good + "-more", good.replace("00-", "ff-"), good.toUpperCase(), good.replace("b7ad6b7169203331", "0000000000000000")]) {
    assert.equal(parseTrace(bad), undefined, bad);
  }
});
