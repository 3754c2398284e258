import { BeeosError, reasonOf, UnreachableError } from "../errors.ts";
import { wellFormed } from "../frame.ts";
import { escapeUrl, readError, readText } from "../http.ts";
import { devPath, isHttp, readDev, sameAddress, withoutSlash } from "../settings.ts";
import { traceHeaders, type Trace } from "../trace.ts";
import process from "node:process";

/** Where the server is and who calls. */
export interface ClientOptions {
  /** REST surface of the server; BEEOS_URL, or the one that `beeos dev` runs here, when left out. */
  url?: string;
  /** A key (oag_ or bak_); BEEOS_KEY, or the one that `beeos dev` made, when left out. */
  key?: string;
  /** How often a request is tried again that may be repeated; 3 when left out. */
  retries?: number;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** The place in a distributed trace that the request is part of: a turn's, or a step's. */
  trace?: Trace | undefined;
}

export interface Request extends CallOptions {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** The whole address, or a path of the server. */
  path: string;
  body?: unknown;
  accept?: string;
  /** It does no harm to send the request twice. */
  repeatable?: boolean;
}

export const pageSize = 100;

const firstPause = 200;
const lastPause = 5_000;
const inFlightFor = 120_000; // how long an answer is asked for whose request was lost on its way

/** Sends requests to one REST surface with one key. */
export class Transport {
  readonly url: string;
  readonly #key: string;
  readonly #retries: number;

  constructor(options: ClientOptions) {
    const dev = readDev(devPath());
    const url = options.url || process.env.BEEOS_URL || dev?.rest;
    if (!url) throw new Error("no server is running here; start one with `beeos dev`, or set BEEOS_URL and BEEOS_KEY");
    if (!isHttp(url)) throw new Error(`${url} is not the URL of a server; write it as http://host:8095 or https://host`);
    this.url = withoutSlash(url).replace(/\/api\/v1$/, "");
    // dev's key belongs to dev's server; no other one may see it.
    const own = dev?.rest && sameAddress(dev.rest, this.url) ? dev.user_key : undefined;
    this.#key = (options.key || process.env.BEEOS_KEY || own || "").trim(); // files of keys end in a newline
    if (!this.#key) throw new Error(`no key for ${this.url}; set BEEOS_KEY`);
    this.#retries = options.retries ?? 3;
  }

  /** Sends a request and returns the data of its answer. */
  async call<T>(request: Request): Promise<T> {
    return (await this.callWhole<{ data: T }>(request)).data;
  }

  /** Sends a request and returns its answer. */
  callWhole<T>(request: Request): Promise<T> {
    return this.#repeat(request, async () => {
      const response = await this.#fetch(request);
      const text = await readText(response).catch((error: unknown) => {
        request.signal?.throwIfAborted();
        throw new UnreachableError(this.url, error);
      });
      try {
        return (text ? JSON.parse(text) : {}) as T;
      } catch {
        throw new Error(`${this.url} does not answer like the REST surface of BeeOS; check the URL`);
      }
    });
  }

  /** Sends a request and returns its response, to be read as it comes. */
  open(request: Request): Promise<Response> {
    return this.#repeat(request, () => this.#fetch(request));
  }

  async #repeat<T>(request: Request, send: () => Promise<T>): Promise<T> {
    const repeatable = request.repeatable ?? (request.method ?? "GET") === "GET";
    let lostAt = 0; // when the first request was lost on its way
    for (let tries = 0, pause = firstPause; ; pause = Math.min(2 * pause, lastPause)) {
      try {
        return await send();
      } catch (error) {
        const inFlight = lostAt > 0 && hasCode(error, "conflict") && Date.now() - lostAt < inFlightFor;
        if (!repeatable || !(inFlight || (mayPass(error) && tries++ < this.#retries))) throw error;
        if (error instanceof UnreachableError) lostAt ||= Date.now();
        const wait = error instanceof BeeosError ? (error.retryAfterMs ?? pause) : pause;
        await sleep(wait / 2 + (Math.random() * wait) / 2, request.signal);
      }
    }
  }

  async #fetch({ method = "GET", path, body, accept = "application/json", signal, trace }: Request): Promise<Response> {
    const headers: Record<string, string> = { Accept: accept, Authorization: `Bearer ${this.#key}`, ...traceHeaders(trace) };
    const init: RequestInit = { method, headers };
    if (signal) init.signal = signal;
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = wellFormed(JSON.stringify(body));
    }
    let response: Response;
    try {
      response = await fetch(path.startsWith("/") ? this.url + path : path, init);
    } catch (error) {
      signal?.throwIfAborted();
      throw new UnreachableError(this.url, error);
    }
    if (response.ok) return response;
    const text = await readText(response, 1 << 20).catch((error: unknown) => {
      throw new UnreachableError(this.url, new Error(`its refusal (HTTP ${response.status}) broke off: ${reasonOf(error)}`));
    });
    throw readError(text, response) ?? new Error(`${this.url} answered ${response.status}, which is not how the REST surface of BeeOS answers; check the URL`);
  }

  /** Lists what an address has, page by page. */
  async *pages<T>(path: string, name: string, query: Record<string, string>, options: CallOptions): AsyncGenerator<T, void, undefined> {
    const asked = new URLSearchParams({ limit: String(pageSize), ...query });
    for (;;) {
      const page = await this.call<Record<string, unknown> & { next_since?: string }>({ ...options, path: `${path}?${asked}` });
      yield* (page[name] ?? []) as T[];
      if (!page.next_since) return;
      asked.set("since", page.next_since);
    }
  }
}

/** The path of a thing: its parts, each escaped. */
export function apiPath(...parts: string[]): string {
  return ["/api/v1", ...parts.map(escapeUrl)].join("/");
}

/** Reports whether an error may be gone at the next try. */
export function mayPass(error: unknown): boolean {
  return error instanceof UnreachableError || hasCode(error, "agent_service_unavailable") || hasCode(error, "rate_limited");
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof BeeosError && error.code === code;
}

/** Waits; throws the signal's reason when that comes first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
