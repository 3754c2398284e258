/** Signatures that all SDKs share. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { verifyWebhook } from "../src/index.ts";
import { authorization, keyFromSeed, publicKeyOf, signedText } from "../src/sign.ts";

function readSpec<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../spec/${name}`, import.meta.url), "utf8")) as T;
}

interface SignatureVector {
  name: string;
  key_id: string;
  method: string;
  path: string;
  body: string;
  time: number;
  nonce: string;
  text: string;
  authorization: string;
}

describe("signatures", () => {
  const { seed, public_key, vectors } = readSpec<{ seed: string; public_key: string; vectors: SignatureVector[] }>("signatures.json");
  const key = keyFromSeed(Buffer.from(seed, "hex"));

  test("the public key", () => assert.equal(publicKeyOf(key), public_key));

  for (const vector of vectors) {
    test(vector.name, () => {
      const request = { method: vector.method, path: vector.path, body: vector.body, timestamp: vector.time, nonce: vector.nonce };
      assert.equal(signedText(request), vector.text);
      assert.equal(authorization({ ...request, key, keyId: vector.key_id }), vector.authorization);
    });
  }
});

interface WebhookVector {
  name: string;
  secret: string;
  body: string;
  now: number;
  headers: Record<string, string>;
  good: boolean;
}

describe("webhooks", () => {
  for (const { name, secret, headers, body, now, good } of readSpec<{ vectors: WebhookVector[] }>("webhooks.json").vectors) {
    test(name, () => {
      assert.equal(verifyWebhook(secret, headers, body, now), good);
      assert.equal(verifyWebhook(secret, new Headers(headers), Buffer.from(body), now), good);
    });
  }
});
