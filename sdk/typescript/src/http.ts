import { BeeosError, type Code } from "./errors.ts";

/** Bounds what one answer may hold, so that a wrong URL cannot fill the memory. */
export const maxAnswer = 16 << 20;

/** The text of an answer; throws when it is longer than that many bytes. */
export async function readText(response: Response, most = maxAnswer): Promise<string> {
  if (!response.body) return "";
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body as ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > most) throw new Error(`the answer is longer than ${most} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** The error that an answer of BeeOS describes; undefined when it is not how BeeOS answers. */
export function readError(text: string, response: Response): BeeosError | undefined {
  let body: { error?: { code?: unknown; message?: string; data?: { code?: Code } } } | null;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    return undefined;
  }
  const error = body?.error;
  if (!error) return undefined;
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
  if (typeof error.code === "string" && error.code) return new BeeosError(error.code, error.message ?? "", { retryAfterMs });
  if (typeof error.code === "number") return new BeeosError(rpcCode(error.code, error.data?.code), error.message ?? "", { retryAfterMs });
  return undefined;
}

/** The code of a JSON-RPC error. JSON-RPC's own numbers come without a word of ours. */
export function rpcCode(number: number, code: Code | undefined): Code {
  if (code) return code;
  return number === -32601 ? "not_found" : number === -32602 ? "invalid_param" : "internal_error";
}

/** Escapes one element of a path or query, so that nobody on the way writes it otherwise: signatures cover it. */
export function escapeUrl(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
