import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { KeyObject } from "node:crypto";
import { newId } from "./ids.ts";
import { Seal } from "./sealing.ts";
import { keyFromSeed, newSeed } from "./sign.ts";

/**
 * The key pair of an agent, and what the gateways that it joined call it. It lives in a file that only its
 * user can read, in the form of the Go SDK; processes that serve the same agent share it.
 */
export class Identity {
  readonly key: KeyObject;
  /** Opens what other instances of the agent have sealed. */
  readonly seal: Seal;
  readonly #path: string;
  readonly #seed: Buffer;
  readonly #instances: Map<string, string>;

  private constructor(path: string, seed: Buffer, instances: Record<string, string>) {
    this.#path = path;
    this.#seed = seed;
    this.#instances = new Map(Object.entries(instances));
    this.key = keyFromSeed(seed);
    this.seal = new Seal(seed);
  }

  /** Reads the file, or makes it with a new key. */
  static open(path: string): Identity {
    try {
      return Identity.#read(path);
    } catch (error) {
      if (!hasCode(error, "ENOENT")) throw error;
    }
    const fresh = new Identity(path, newSeed(), {});
    try {
      fresh.#write(linkSync); // fails when another process was faster
      return fresh;
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
      return Identity.#read(path);
    }
  }

  static #read(path: string): Identity {
    const text = readIdentity(path);
    const wrong = new Error(`${path} is not an agent's identity; move it away and a new one is made`);
    let file: { private_key?: unknown; instances?: Record<string, string> };
    try {
      file = JSON.parse(text) as typeof file;
    } catch {
      throw wrong;
    }
    const seed = typeof file?.private_key === "string" ? Buffer.from(file.private_key, "base64") : Buffer.alloc(0);
    if (seed.length !== 32) throw wrong;
    return new Identity(path, seed, file.instances ?? {});
  }

  /** What the gateway calls this identity; undefined = it has not joined. */
  instanceAt(gateway: string): string | undefined {
    return this.#instances.get(gateway);
  }

  joined(gateway: string, instance: string): void {
    this.#instances.set(gateway, instance);
    this.#write(renameSync);
  }

  forget(gateway: string): void {
    this.#instances.delete(gateway);
  }

  /** Puts the file in place as a whole, by link or rename. */
  #write(place: (from: string, to: string) => void): void {
    const folder = dirname(this.#path);
    const fresh = join(folder, `.identity-${newId()}`);
    const text = JSON.stringify(
      { private_key: this.#seed.toString("base64"), instances: Object.fromEntries(this.#instances) },
      null,
      2,
    );
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(fresh, text, { mode: 0o600, flag: "wx" });
    } catch (cause) {
      throw new Error(`write the identity; set the option identity to a file that can be written: ${(cause as Error).message}`, { cause });
    }
    try {
      place(fresh, this.#path);
    } finally {
      rmSync(fresh, { force: true });
    }
  }
}

function readIdentity(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) throw error;
    throw new Error(`read the identity; set the option identity to a file that can be read: ${(error as Error).message}`, { cause: error });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
