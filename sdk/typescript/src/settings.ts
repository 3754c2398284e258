import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import process from "node:process";

const defaultGateway = "http://localhost:8083";

/** What `beeos dev` leaves in its data folder for programs on its machine. */
export interface DevFile {
  rest?: string;
  agents?: string;
  user_key?: string;
}

/** Where an agent serves and what it may join with, as far as its author says. */
export interface Place {
  /** AGENT_GATEWAY_URL, dev.json or http://localhost:8083 when left out. */
  gateway?: string;
  /** User key (oag_) to join with; BEEOS_KEY when left out. */
  key?: string;
  /** One-time token to join with; BEEOS_JOIN_TOKEN when left out. */
  joinToken?: string;
  /** File of the key pair; one per agent in the user's configuration folder when left out. */
  identity?: string;
}

/** One way to join. */
export interface Credential {
  token?: string;
  key?: string;
  /** For people. */
  from: string;
  /** From dev.json, which may be rewritten any moment. */
  local: boolean;
}

/**
 * Where the agent serves and what it may join with. Options come first, then the environment, then the file
 * that `beeos dev` leaves for the agents on its machine.
 */
export class Settings {
  readonly gateway: string;
  readonly identity: string;
  readonly #key: string;
  readonly #token: string;
  readonly #dev: string;

  constructor(name: string, place: Place) {
    const env = process.env;
    this.#key = place.key || env.BEEOS_KEY || "";
    this.#token = place.joinToken || env.BEEOS_JOIN_TOKEN || "";
    this.#dev = devPath();
    const gateway = place.gateway || env.AGENT_GATEWAY_URL || readDev(this.#dev)?.agents || defaultGateway;
    this.gateway = withoutSlash(gateway);
    if (!isHttp(this.gateway)) {
      throw new Error(`agent ${name}: the gateway "${this.gateway}" is not an http:// or https:// address; check AGENT_GATEWAY_URL`);
    }
    this.identity = place.identity || join(configFolder(name), "beeos", "agents", `${fileName(name)}.json`);
  }

  /**
   * What to join with. dev.json is read each time: it is rewritten when the data folder was wiped. Its key
   * goes to its own gateway and to no other.
   */
  credential(): Credential {
    if (this.#token) return { token: this.#token, from: "the join token", local: false };
    if (this.#key) return { key: this.#key, from: "the user key", local: false };
    const dev = readDev(this.#dev);
    if (dev?.user_key && sameAddress(dev.agents ?? "", this.gateway)) {
      return { key: dev.user_key, from: this.#dev, local: true };
    }
    throw new Error(
      `nothing to join ${this.gateway} with: run \`beeos dev\` here (it writes ${this.#dev}), or set BEEOS_KEY to a user key (oag_…), or BEEOS_JOIN_TOKEN to a one-time token of \`beeos agent token\``,
    );
  }
}

/** The path of dev.json. */
export function devPath(): string {
  return join(process.env.BEEOS_DATA || "beeos-data", "dev.json");
}

/** What `beeos dev` wrote; undefined = this is not its machine. */
export function readDev(path: string): DevFile | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as DevFile;
  } catch {
    return undefined;
  }
}

/** Compares addresses; the names of this machine are one. */
export function sameAddress(a: string, b: string): boolean {
  const plain = (url: string) => withoutSlash(url).replace(/:\/\/(127\.0\.0\.1|\[::1\])/, "://localhost");
  return plain(a) === plain(b);
}

export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

export function isHttp(url: string): boolean {
  return /^https?:\/\/[^/]/.test(url) && URL.canParse(url);
}

/** The user's configuration folder, where the Go SDK looks for it too. */
function configFolder(name: string): string {
  const env = process.env;
  const nowhere = new Error(`agent ${name}: nowhere to keep the identity; set the option identity to a file`);
  if (process.platform === "win32") {
    if (!env.AppData) throw nowhere;
    return env.AppData;
  }
  if (process.platform === "darwin") {
    if (!env.HOME) throw nowhere;
    return join(env.HOME, "Library", "Application Support");
  }
  const folder = env.XDG_CONFIG_HOME || (env.HOME ? join(env.HOME, ".config") : "");
  if (!isAbsolute(folder)) throw nowhere;
  return folder;
}

/** A file name for an agent's name. Two names never share one, for then the agents would share an identity. */
export function fileName(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_-]+/g, "-");
  return safe === name ? name : `${safe}-${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
}
