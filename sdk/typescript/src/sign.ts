import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";

/** What stands before the 32 bytes of a seed in the PKCS#8 form of an Ed25519 key. */
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex");

/** The private key of a seed of 32 bytes. */
export function keyFromSeed(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: "der", type: "pkcs8" });
}

export function newSeed(): Buffer {
  const { privateKey } = generateKeyPairSync("ed25519");
  return privateKey.export({ format: "der", type: "pkcs8" }).subarray(pkcs8Head.length);
}

/** The public key in base64, as the gateway wants it. */
export function publicKeyOf(key: KeyObject): string {
  const { x } = createPublicKey(key).export({ format: "jwk" });
  return Buffer.from(x as string, "base64url").toString("base64");
}

/** One request that is to be signed. The path includes the query. */
export interface Signed {
  key: KeyObject;
  keyId: string;
  method: string;
  path: string;
  body?: string | Uint8Array;
  /** Unix seconds; now when left out. */
  timestamp?: number;
  /** Never used twice; made up when left out. */
  nonce?: string;
}

/** The text that a signature covers. */
export function signedText(request: Required<Omit<Signed, "key" | "keyId">>): string {
  const hash = createHash("sha256").update(request.body).digest("hex");
  return [request.method, request.path, hash, request.timestamp, request.nonce].join("\n");
}

/** The Authorization header of one request to the gateway. */
export function authorization(request: Signed): string {
  const { key, keyId, method, path, body = "" } = request;
  const timestamp = request.timestamp ?? Math.floor(Date.now() / 1000);
  const nonce = request.nonce ?? randomBytes(16).toString("hex");
  const signature = sign(null, Buffer.from(signedText({ method, path, body, timestamp, nonce })), key);
  return `Ed25519 ${keyId}:${timestamp}:${nonce}:${signature.toString("base64")}`;
}
