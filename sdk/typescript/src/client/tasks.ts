import type { JsonObject } from "../frame.ts";
import { newId } from "../ids.ts";
import type { Agents } from "./agents.ts";
import { followEvents, type Update } from "./events.ts";
import { nameFiles, type AttachedFile } from "./files.ts";
import { apiPath, type CallOptions, type Transport } from "./transport.ts";

export type TaskStatus =
  | "queued"
  | "running"
  | "input_required"
  | "auth_required"
  | "completed"
  | "failed"
  | "canceled"
  | "timeout"
  | "rejected";

/** One request to an agent, by whichever surface it was made. */
export interface Task {
  task_id: string;
  agent_id: string;
  context_id: string;
  status: TaskStatus;
  /** While it is input_required or auth_required: what the agent waits to be told. */
  question?: { message_id: string; type: string; text: string; parts?: JsonObject[]; payload?: unknown; asked_at: string };
  result?: { text: string; parts?: JsonObject[]; payload?: unknown };
  error?: string;
  metadata?: Record<string, string>;
  created_at: string;
  completed_at?: string;
  deadline_at?: string;
}

export interface TaskOptions extends CallOptions {
  contextId?: string;
  /** How long it may take; a day when left out, a week at most. */
  deadlineMs?: number;
  metadata?: Record<string, string>;
  attachments?: readonly AttachedFile[];
  /** The same task under the same key is made once. One is made up when left out; with null it has none. */
  idempotencyKey?: string | null;
}

/** A receiver that is told how a task goes. */
export interface Webhook {
  webhook_id: string;
  task_id: string;
  url: string;
  has_secret: boolean;
  /** It answered that it is gone, and is told nothing more. */
  disabled?: boolean;
  created_at: string;
}

/** One thing that a webhook was told, or will be. */
export interface Delivery {
  delivery_id: string;
  webhook_id: string;
  task_id: string;
  /** Another attempt follows one that has failed, and none a dead letter. */
  status: "pending" | "failed" | "succeeded" | "dead_letter";
  attempt_num: number;
  last_response_status: number;
  last_error?: string;
  attempts?: { at: string; response_status: number; error?: string; took_ms: number }[];
  created_at: string;
}

const over = new Set<TaskStatus>(["completed", "failed", "canceled", "timeout", "rejected"]);

/** Work for agents that its caller comes back for. */
export class Tasks {
  readonly #transport: Transport;
  readonly #agents: Agents;

  constructor(transport: Transport, agents: Agents) {
    this.#transport = transport;
    this.#agents = agents;
  }

  /** Gives an agent work and returns as soon as that is stored. */
  async create(agent: string, message: string, options: TaskOptions = {}): Promise<Task> {
    const { contextId, deadlineMs, metadata, attachments, idempotencyKey: key = newId(), ...rest } = options;
    return this.#transport.call({
      ...rest,
      method: "POST",
      path: apiPath("agents", await this.#agents.idOf(agent, rest), "tasks"),
      body: { message, context_id: contextId, deadline_ms: deadlineMs, metadata, attachments: nameFiles(attachments), idempotency_key: key ?? undefined },
      repeatable: key !== null,
    });
  }

  /** The task as it is now. */
  async get(agent: string, taskId: string, options: CallOptions = {}): Promise<Task> {
    return this.#transport.call({ ...options, path: await this.#path(agent, taskId, options) });
  }

  /** The tasks of the key's user, the newest first. */
  async *list(options: CallOptions & { agent?: string; state?: "active" | "closed" | "all" } = {}): AsyncGenerator<Task, void, undefined> {
    const { agent, state, ...rest } = options;
    const query: Record<string, string> = {};
    if (agent) query.agent_id = await this.#agents.idOf(agent, rest);
    if (state) query.state = state;
    yield* this.#transport.pages<Task>("/api/v1/tasks", "tasks", query, rest);
  }

  /** Ends a task and returns it as it is then: the agent may have finished it first. */
  async cancel(agent: string, taskId: string, reason = "", options: CallOptions = {}): Promise<Task> {
    return this.#post(agent, taskId, "cancel", { reason }, options);
  }

  /** Gives an agent that paused what it asked for: a text, or anything that JSON can carry. */
  async continue(agent: string, taskId: string, input: unknown, options: CallOptions = {}): Promise<Task> {
    return this.#post(agent, taskId, "continue", { input }, options);
  }

  /** Consents to what an agent asked consent for, or denies it. */
  async grant(agent: string, taskId: string, granted: boolean, options: CallOptions = {}): Promise<Task> {
    return this.#post(agent, taskId, "continue", { auth_grant: granted }, options);
  }

  /**
   * Yields the messages of a task from the beginning to its last reply, and the pieces of that as they come. When
   * the connection breaks it comes back for the rest.
   */
  async *watch(agent: string, taskId: string, options: CallOptions = {}): AsyncGenerator<Update, void, undefined> {
    yield* followEvents(this.#transport, await this.#path(agent, taskId, options, "events"), 0, options);
  }

  /** Waits until a task is over, or the agent asks something, and returns it as it is then. */
  async wait(agent: string, taskId: string, options: CallOptions = {}): Promise<Task> {
    for await (const { message } of this.watch(agent, taskId, options)) {
      if (!message.type.endsWith("_required")) continue;
      const task = await this.get(agent, taskId, options);
      if (task.question || over.has(task.status)) return task;
    }
    return this.get(agent, taskId, options);
  }

  /** Lets a receiver be told how the task goes; `verifyWebhook` checks what it is sent. */
  async addWebhook(agent: string, taskId: string, webhook: { url: string; token?: string; secret?: string }, options: CallOptions = {}): Promise<Webhook> {
    const path = await this.#path(agent, taskId, options, "webhooks");
    return this.#transport.call({ ...options, method: "POST", path, body: webhook, repeatable: true }); // the same URL replaces it
  }

  /** The webhooks of a task. */
  async webhooks(agent: string, taskId: string, options: CallOptions = {}): Promise<Webhook[]> {
    const path = await this.#path(agent, taskId, options, "webhooks");
    return (await this.#transport.call<{ webhooks: Webhook[] }>({ ...options, path })).webhooks;
  }

  /** Ends a webhook and everything that is still to be sent to it. */
  async removeWebhook(agent: string, taskId: string, webhookId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.call({ ...options, method: "DELETE", path: await this.#path(agent, taskId, options, "webhooks", webhookId) });
  }

  /** What a webhook was told, the newest first. */
  async deliveries(agent: string, taskId: string, webhookId: string, options: CallOptions & { limit?: number } = {}): Promise<Delivery[]> {
    const { limit = 20, ...rest } = options;
    const path = await this.#path(agent, taskId, rest, "webhooks", webhookId, "deliveries");
    return (await this.#transport.call<{ deliveries: Delivery[] }>({ ...rest, path: `${path}?limit=${limit}` })).deliveries;
  }

  /** Sends a delivery once more, signed afresh. */
  async redeliver(agent: string, taskId: string, webhookId: string, deliveryId: string, options: CallOptions = {}): Promise<Delivery> {
    const path = await this.#path(agent, taskId, options, "webhooks", webhookId, "deliveries", deliveryId, "redeliver");
    return this.#transport.call({ ...options, method: "POST", path });
  }

  async #post(agent: string, taskId: string, act: string, body: JsonObject, options: CallOptions): Promise<Task> {
    return this.#transport.call({ ...options, method: "POST", path: await this.#path(agent, taskId, options, act), body });
  }

  async #path(agent: string, taskId: string, options: CallOptions, ...rest: string[]): Promise<string> {
    return apiPath("agents", await this.#agents.idOf(agent, options), "tasks", taskId, ...rest);
  }
}
