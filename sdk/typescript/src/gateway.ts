import { uploadBody, type FileContent, type FileInfo } from "./attachment.ts";
import { BeeosError, codeOf, describe, reasonOf, Refusal } from "./errors.ts";
import { wellFormed } from "./frame.ts";
import { escapeUrl, readError, readText } from "./http.ts";
import { Identity } from "./identity.ts";
import type { Seal } from "./sealing.ts";
import type { Logger } from "./log.ts";
import type { Settings } from "./settings.ts";
import { authorization, publicKeyOf } from "./sign.ts";
import { version } from "./version.ts";

const requestWithin = 30_000;

/** How the owner of an agent recognises that it uses this package. */
export const userAgent = `beeos-typescript/${version}`;

/** A message of a conversation, as the log has it. */
export interface HistoryMessage {
  message_id: string;
  channel_id: string;
  offset: number;
  type: string;
  state?: string;
  stop_reason?: string;
  in_reply_to?: string;
  publisher_id: string;
  body: string;
  parts?: unknown;
  payload?: unknown;
  created_at: string;
  updated_at: string;
}

/** What an agent says about itself in a sync. */
export type Definition = { name: string } & { [field: string]: unknown };

/** The HTTP side of the agent gateway: join, sync, history, files. */
export class Gateway {
  readonly base: string;
  readonly #settings: Settings;
  readonly #identity: Identity;
  readonly #log: Logger;
  #declared = false;
  #known = false; // a signature of ours was accepted at least once
  #untried = false; // this process joined, and no signature was accepted since

  constructor(settings: Settings, log: Logger) {
    this.base = settings.gateway;
    this.#settings = settings;
    this.#identity = Identity.open(settings.identity);
    this.#log = log;
  }

  get seal(): Seal {
    return this.#identity.seal;
  }

  /** Joins and declares the agent if the gateway does not know it yet. */
  async ensureDeclared(definition: Definition, signal: AbortSignal): Promise<void> {
    if (!this.#identity.instanceAt(this.base)) await this.#join(definition.name, signal);
    if (!this.#declared) await this.declare(definition, signal);
  }

  /** The next connection declares the agent again. */
  declareAgain(): void {
    this.#declared = false;
  }

  /** Declares the agent as it is defined. */
  async declare(definition: Definition, signal?: AbortSignal): Promise<void> {
    try {
      await this.#sendSigned("POST", "/api/v1/agents/sync", { agents: [definition] }, signal);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (refusedForGood.has(codeOf(error))) throw new Refusal(error, "declare the agent: ");
      throw new Error(`declare the agent: ${describe(error)}`, { cause: error });
    }
    this.#declared = true;
  }

  /** Registers this process's public key with a credential of its owner. */
  async #join(name: string, signal: AbortSignal): Promise<void> {
    let credential;
    try {
      credential = this.#settings.credential();
    } catch (error) {
      throw this.#known ? error : new Refusal(error); // it may come back: the gateway was here before
    }
    const { token = "", key, from, local } = credential;
    const body = { token, name, public_key: publicKeyOf(this.#identity.key) };
    let got: { instance_id: string };
    try {
      const headers = key ? { Authorization: `Bearer ${key}` } : undefined;
      got = (await this.#exchange("POST", "/api/v1/agents/join", wellFormed(JSON.stringify(body)), headers, signal)) as typeof got;
    } catch (error) {
      const message = `join ${this.base} with ${from}: `;
      const passing = !(error instanceof BeeosError) || passingCodes.has(error.code);
      if (passing || local || this.#known) throw new Error(message + describe(error), { cause: error });
      throw new Refusal(error, message);
    }
    this.#log.info("joined", { gateway: this.base, instance: got.instance_id, with: from });
    this.#untried = true;
    this.#declared = false;
    this.#identity.joined(this.base, got.instance_id);
  }

  /** Reads a channel of this agent's, the oldest message first, from after the offset `since` on. */
  async readHistory(channel: string, since: number, signal?: AbortSignal): Promise<HistoryMessage[]> {
    const all: HistoryMessage[] = [];
    for (; ; since = all.at(-1)!.offset) {
      const path = `/api/v1/agents/channels/${escapeUrl(channel)}/messages?since=${since}`;
      const page = (await this.#readPage(path, signal)) as { messages?: HistoryMessage[]; has_more?: boolean };
      const messages = page.messages ?? [];
      all.push(...messages);
      if (!page.has_more || messages.length === 0) return all;
    }
  }

  async #readPage(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    try {
      return await this.#sendSigned("GET", path, undefined, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw new Error(`read the history: ${describe(error)}`, { cause: error });
    }
  }

  /** Sends a file for the caller of a message. */
  async uploadFile(message: string, filename: string, contentType: string, content: FileContent, signal?: AbortSignal): Promise<FileInfo> {
    const wanted = { message_id: message, filename, content_type: contentType };
    const link = (await this.#sendSigned("POST", "/api/v1/agents/files", wanted, signal)) as { upload_url: string; download_url: string };
    let response: Response;
    try {
      const request = { method: "PUT", headers: { "Content-Type": contentType }, ...uploadBody(content), ...(signal && { signal }) };
      response = await fetch(link.upload_url, request);
    } catch (error) {
      signal?.throwIfAborted();
      throw new Error(reasonOf(error)); // without the link, which is a permission
    }
    const text = await readText(response);
    if (!response.ok) throw readError(text, response) ?? new Error(`the server answered ${response.status}`);
    const { data } = JSON.parse(text) as { data?: FileInfo };
    if (!data?.file_id) throw new BeeosError("internal_error", "the server does not say that it has the file");
    return { ...data, url: link.download_url };
  }

  /** The address and the headers of the agent's WebSocket. */
  socketRequest(name: string): { url: string; headers: Record<string, string> } {
    const path = `/api/v1/agents/connect?agents=${escapeUrl(name).replaceAll("%20", "+")}`;
    return {
      url: this.base.replace(/^http/, "ws") + path,
      headers: { Authorization: this.#sign("GET", path), "User-Agent": userAgent },
    };
  }

  /** Notes that the gateway took a signature of ours. */
  noteAccepted(): void {
    this.#known = true;
    this.#untried = false;
  }

  async #sendSigned(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const text = body === undefined ? "" : wellFormed(JSON.stringify(body));
    try {
      const got = await this.#exchange(method, path, text, { Authorization: this.#sign(method, path, text) }, signal);
      this.noteAccepted();
      return got;
    } catch (error) {
      throw this.#noteRefused(error);
    }
  }

  /** An identity that the gateway has forgotten (its data was wiped) joins again at the next try. */
  #noteRefused(error: unknown): unknown {
    if (!(error instanceof BeeosError) || (error.code !== "invalid_token" && error.code !== "unauthorized")) return error;
    if (this.#untried) {
      return new Refusal(error, "the gateway took this agent in but refuses its signature; is this machine's clock right? ");
    }
    this.#identity.forget(this.base);
    this.#declared = false;
    return new Error(`the gateway does not know this identity, which will join again: ${describe(error)}`, { cause: error });
  }

  #sign(method: string, path: string, body = ""): string {
    const keyId = this.#identity.instanceAt(this.base) ?? "";
    return authorization({ key: this.#identity.key, keyId, method, path, body });
  }

  /** Sends a request and returns the data of the answer. */
  async #exchange(method: string, path: string, body: string, headers: Record<string, string> | undefined, signal?: AbortSignal): Promise<unknown> {
    const within = AbortSignal.timeout(requestWithin);
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.base + path, {
        method,
        headers: { "Content-Type": "application/json", "User-Agent": userAgent, ...headers },
        ...(method !== "GET" && { body }),
        signal: signal ? AbortSignal.any([within, signal]) : within,
      });
      text = await readText(response);
    } catch (error) {
      signal?.throwIfAborted();
      throw new Error(reasonOf(error), { cause: error });
    }
    if (response.status >= 400) {
      throw readError(text, response) ?? new Error(`the gateway answered ${response.status}: ${text.slice(0, 200)}`);
    }
    try {
      return (JSON.parse(text) as { data: unknown }).data;
    } catch {
      throw new Error(`${this.base} does not answer like a gateway`);
    }
  }
}

/** What a gateway says that it will never take. */
const refusedForGood = new Set<string>(["invalid_body", "invalid_param", "invalid_json", "missing_param", "conflict", "payload_too_large"]);

/** What may be otherwise at the next try. */
const passingCodes = new Set<string>(["internal_error", "agent_service_unavailable", "rate_limited"]);
