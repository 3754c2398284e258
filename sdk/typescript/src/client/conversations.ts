import type { HistoryMessage } from "../gateway.ts";
import { newId } from "../ids.ts";
import type { Agents } from "./agents.ts";
import { followEvents, type Update } from "./events.ts";
import { nameFiles, type AttachedFile } from "./files.ts";
import { apiPath, type CallOptions, type Transport } from "./transport.ts";

/** A channel with an agent that stays open. */
export interface Conversation {
  conversation_id: string;
  agent_id: string;
  title?: string;
  state: "active" | "closed";
  metadata?: Record<string, string>;
  created_at: string;
  last_activity_at: string;
  closed_at?: string;
}

export interface SayOptions extends CallOptions {
  attachments?: readonly AttachedFile[];
  idempotencyKey?: string;
}

/** Conversations with agents. */
export class Conversations {
  readonly #transport: Transport;
  readonly #agents: Agents;

  constructor(transport: Transport, agents: Agents) {
    this.#transport = transport;
    this.#agents = agents;
  }

  async create(agent: string, title = "", options: CallOptions = {}): Promise<Conversation> {
    const path = apiPath("agents", await this.#agents.idOf(agent, options), "conversations");
    return this.#transport.call({ ...options, method: "POST", path, body: { title } });
  }

  /** The conversations with an agent, the newest first. */
  async *list(agent: string, options: CallOptions = {}): AsyncGenerator<Conversation, void, undefined> {
    const path = apiPath("agents", await this.#agents.idOf(agent, options), "conversations");
    yield* this.#transport.pages<Conversation>(path, "conversations", {}, options);
  }

  /** Sends a message and returns its id; the reply comes in the events. A repeat by the client is no second message. */
  async say(agent: string, conversationId: string, message: string, options: SayOptions = {}): Promise<string> {
    const { idempotencyKey = newId(), attachments, ...rest } = options;
    const path = await this.#path(agent, conversationId, rest, "messages");
    const body = { message, attachments: nameFiles(attachments), idempotency_key: idempotencyKey };
    const sent = await this.#transport.call<{ message_id: string }>({ ...rest, method: "POST", path, body, repeatable: true });
    return sent.message_id;
  }

  /** What was said so far, the oldest first. */
  async *messages(agent: string, conversationId: string, options: CallOptions = {}): AsyncGenerator<HistoryMessage, void, undefined> {
    const path = await this.#path(agent, conversationId, options, "messages");
    yield* this.#transport.pages<HistoryMessage>(path, "messages", { since: "0" }, options);
  }

  /** Yields what is said after an offset, then what comes, until the conversation is closed. */
  async *watch(agent: string, conversationId: string, options: CallOptions & { since?: number } = {}): AsyncGenerator<Update, void, undefined> {
    const { since = 0, ...rest } = options;
    yield* followEvents(this.#transport, await this.#path(agent, conversationId, rest, "events"), since, rest);
  }

  /** Sends a message and waits for the reply to it. */
  async ask(agent: string, conversationId: string, message: string, options: SayOptions & { since?: number } = {}): Promise<HistoryMessage> {
    const id = await this.say(agent, conversationId, message, options);
    for await (const update of this.watch(agent, conversationId, options)) {
      if (!update.delta && update.message.in_reply_to === id && isTerminal(update.message.type)) return update.message;
    }
    throw new Error("the conversation was closed before the reply came");
  }

  /** Forgets a conversation and what was said in it. */
  async delete(agent: string, conversationId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.call({ ...options, method: "DELETE", path: await this.#path(agent, conversationId, options) });
  }

  async #path(agent: string, conversationId: string, options: CallOptions, ...rest: string[]): Promise<string> {
    return apiPath("agents", await this.#agents.idOf(agent, options), "conversations", conversationId, ...rest);
  }
}

function isTerminal(type: string): boolean {
  return ["agent_reply", "agent_reply_error", "agent.refuse", "agent_busy"].includes(type);
}
