import { createHmac, timingSafeEqual } from "node:crypto";

/** What a webhook is told. */
export interface WebhookEvent {
  type: string;
  task_id: string;
  context_id: string;
  status: string;
  /** Nothing comes after it. */
  final: boolean;
  timestamp: string;
  approval?: { id: string; url?: string };
}

type HeaderSource = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

const window = 300; // seconds that a delivery may be old, or early

/**
 * Reports whether a delivery comes from who has the secret, and not more than five minutes ago. `body` is what was
 * sent, before anything parses it.
 */
export function verifyWebhook(secret: string, headers: HeaderSource, body: string | Uint8Array, now = Date.now() / 1000): boolean {
  const own = readHeader(headers, "x-beeos-signature");
  const [stamp = "", ...signatures] = own.split(",");
  const time = stamp.replace(/^t=/, "");
  if (isRecent(time, now)) {
    const wanted = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
    if (signatures.some((field) => field.startsWith("v1=") && isEqual(wanted, Buffer.from(field.slice(3), "hex")))) return true;
  }
  return verifyStandard(secret, headers, body, now);
}

/** The headers of https://www.standardwebhooks.com */
function verifyStandard(secret: string, headers: HeaderSource, body: string | Uint8Array, now: number): boolean {
  const time = readHeader(headers, "webhook-timestamp");
  if (!isRecent(time, now)) return false;
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
  const id = readHeader(headers, "webhook-id");
  const wanted = createHmac("sha256", key).update(`${id}.${time}.`).update(body).digest();
  const signatures = readHeader(headers, "webhook-signature").split(" ");
  return signatures.some((field) => field.startsWith("v1,") && isEqual(wanted, Buffer.from(field.slice(3), "base64")));
}

/** Reads a delivery as frameworks of the web have it; throws when its signature is not good. */
export async function readWebhook(request: Request, secret: string): Promise<WebhookEvent> {
  const body = await request.text();
  if (!verifyWebhook(secret, request.headers, body)) throw new Error("the webhook's signature is not good");
  return JSON.parse(body) as WebhookEvent;
}

function isRecent(time: string, now: number): boolean {
  return /^\d+$/.test(time) && Math.abs(now - Number(time)) <= window;
}

function isEqual(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function readHeader(headers: HeaderSource, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const [, value = ""] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return typeof value === "string" ? value : value.join(",");
}
