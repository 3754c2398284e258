import { BeeosError } from "../errors.ts";
import type { JsonObject } from "../frame.ts";
import { rpcCode } from "../http.ts";
import { newId } from "../ids.ts";
import { Agents } from "./agents.ts";
import { Approvals } from "./approvals.ts";
import { Conversations } from "./conversations.ts";
import { readEvents } from "./events.ts";
import { Files, nameFiles, type AttachedFile, type FilePart } from "./files.ts";
import { Tasks } from "./tasks.ts";
import { apiPath, Transport, type CallOptions, type ClientOptions } from "./transport.ts";

/** A question to an agent, besides its text. */
export interface InvokeOptions extends CallOptions {
  /** Goes on with the conversation that an earlier answer named. */
  contextId?: string;
  /** How long the agent may take; its own time when left out, 115,000 at most. */
  timeoutMs?: number;
  metadata?: Record<string, string>;
  attachments?: readonly AttachedFile[];
  /**
   * The same question under the same key is asked once, however often it is sent. One is made up when left out, so
   * that the client can try again by itself. With null the question has none: it is sent once, and an agent that
   * dies over it is replaced by another instance.
   */
  idempotencyKey?: string | null;
}

/** What an agent answered. */
export interface Answer {
  text: string;
  contextId: string;
  /** The agent itself failed; the text is its explanation. */
  isError: boolean;
  /** What the agent said besides text. */
  parts: JsonObject[];
  /** Those parts that are files. */
  files: FilePart[];
}

/** One piece of a streamed answer; the last one is `done`. */
export type AnswerEvent =
  | { type: "delta"; text: string; part?: JsonObject }
  | { type: "reasoning"; text: string }
  | { type: "done"; answer: Answer };

/** What a tool of an agent returned. */
export interface ToolResult {
  text: string;
  content: JsonObject[];
  structured: JsonObject | undefined;
  isError: boolean;
}

interface RawAnswer {
  text?: string;
  context_id?: string;
  is_error?: boolean;
  parts?: JsonObject[];
}

/**
 * Calls agents over the REST surface of BeeOS. What the server refuses is thrown as a BeeosError. An agent is named
 * by its id, or by a name that it has with the key's user.
 *
 *     const client = new Client();
 *     const { text } = await client.call("weather", "What is it like in Oslo?");
 */
export class Client {
  readonly agents: Agents;
  readonly tasks: Tasks;
  readonly conversations: Conversations;
  readonly files: Files;
  readonly approvals: Approvals;
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    this.#transport = new Transport(options);
    this.agents = new Agents(this.#transport);
    this.tasks = new Tasks(this.#transport, this.agents);
    this.conversations = new Conversations(this.#transport, this.agents);
    this.files = new Files(this.#transport);
    this.approvals = new Approvals(this.#transport);
  }

  /** Where the client's server is. */
  get url(): string {
    return this.#transport.url;
  }

  /** Asks an agent and waits for the whole answer. */
  async call(agent: string, message: string, options: InvokeOptions = {}): Promise<Answer> {
    return readAnswer(await this.#transport.call<RawAnswer>(await this.#invoke(agent, message, options)));
  }

  /** Asks an agent and yields its answer as it comes. */
  async *stream(agent: string, message: string, options: InvokeOptions = {}): AsyncGenerator<AnswerEvent, void, undefined> {
    const request = await this.#invoke(agent, message, options);
    const response = await this.#transport.open({ ...request, accept: "text/event-stream" });
    for await (const { data } of readEvents(response)) {
      const frame = JSON.parse(data) as RawAnswer & { type: string; code?: string; message?: string; part?: JsonObject };
      switch (frame.type) {
        case "delta":
          yield { type: "delta", text: frame.text ?? "", ...(frame.part && { part: frame.part }) };
          break;
        case "reasoning":
          yield { type: "reasoning", text: frame.text ?? "" };
          break;
        case "error":
          throw new BeeosError(frame.code ?? "internal_error", frame.message ?? "");
        case "done":
          yield { type: "done", answer: readAnswer(frame) };
          return;
      }
    }
    throw new Error("the stream ended before the answer was complete");
  }

  async #invoke(agent: string, message: string, options: InvokeOptions) {
    const { contextId, timeoutMs, metadata, attachments, idempotencyKey: key = newId(), ...rest } = options;
    return {
      ...rest,
      method: "POST" as const,
      path: apiPath("agents", await this.agents.idOf(agent, rest), "invoke"),
      body: { message, context_id: contextId, timeout_ms: timeoutMs, metadata, attachments: nameFiles(attachments), idempotency_key: key ?? undefined },
      repeatable: key !== null,
    };
  }

  /** Calls one tool of an agent at its MCP endpoint, which checks the arguments against the tool's schema. */
  async callTool(agent: string, tool: string, args: JsonObject = {}, options: CallOptions = {}): Promise<ToolResult> {
    const { name, mcpUrl } = await this.agents.find(agent, options);
    if (!mcpUrl) throw new Error(`the server names no MCP endpoint for agent "${name}"`);
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: args } };
    type Reply = { result?: { content?: JsonObject[]; structuredContent?: JsonObject; isError?: boolean }; error?: { code: number; message: string; data?: { code?: string } } };
    const { result, error } = await this.#transport.callWhole<Reply>({ ...options, method: "POST", path: mcpUrl, body });
    if (error) throw new BeeosError(rpcCode(error.code, error.data?.code), error.message);
    if (!result) throw new Error("the MCP endpoint answered with neither result nor error");
    const content = result.content ?? [];
    const texts = content.filter((block) => block.type === "text").map((block) => String(block.text));
    const text = texts.length === 0 && result.structuredContent ? JSON.stringify(result.structuredContent) : texts.join("\n");
    return { text, content, structured: result.structuredContent, isError: result.isError === true };
  }
}

function readAnswer(raw: RawAnswer): Answer {
  const parts = raw.parts ?? [];
  const files = parts.filter((part) => part.type === "file") as unknown as FilePart[];
  return { text: raw.text ?? "", contextId: raw.context_id ?? "", isError: raw.is_error === true, parts, files };
}
