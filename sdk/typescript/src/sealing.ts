/** What the agent's own instances read and nobody else, though it is kept where callers can see it. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const cipher = "aes-256-gcm";
const nonceSize = 12;
const tagSize = 16;

/** Seals with a key that all instances of an agent can make of the one that they sign with. */
export class Seal {
  readonly #key: Buffer;

  constructor(seed: Uint8Array) {
    this.#key = Buffer.from(hkdfSync("sha256", seed, "", "beeos records of adapters", 32));
  }

  /** Seals a text. It can be opened in this place alone. */
  close(text: string, place: string): string {
    const nonce = randomBytes(nonceSize);
    const box = createCipheriv(cipher, this.#key, nonce).setAAD(Buffer.from(place));
    return Buffer.concat([nonce, box.update(text), box.final(), box.getAuthTag()]).toString("base64");
  }

  /** The text; undefined if somebody else sealed it, or for another place. */
  open(sealed: string, place: string): string | undefined {
    const raw = Buffer.from(sealed, "base64");
    if (raw.length < nonceSize + tagSize) return undefined;
    const box = createDecipheriv(cipher, this.#key, raw.subarray(0, nonceSize)).setAAD(Buffer.from(place));
    box.setAuthTag(raw.subarray(-tagSize));
    try {
      return Buffer.concat([box.update(raw.subarray(nonceSize, -tagSize)), box.final()]).toString();
    } catch {
      return undefined;
    }
  }
}
