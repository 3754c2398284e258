import type { JsonObject } from "../frame.ts";
import { apiPath, type CallOptions, type Transport } from "./transport.ts";

/** A tool call of an agent's that waits, or waited, for a person. */
export interface Approval {
  id: string;
  agent_id: string;
  caller: string;
  caller_name: string;
  skill?: string;
  tool: string;
  arguments: JsonObject;
  status: "pending" | "approved" | "rejected" | "expired" | "withdrawn";
  requested_at: string;
  expires_at: string;
  decided_at?: string;
  decided_by?: string;
  reason?: string;
}

/** What the user's agents want to be allowed. */
export class Approvals {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The newest approvals of the user's agents. */
  list(status: "pending" | "decided" | "all" = "pending", options: CallOptions = {}): Promise<Approval[]> {
    return this.#transport.call({ ...options, path: `/api/v1/approvals?limit=200&status=${status}` });
  }

  /** Lets the tool call be made, with the arguments that it was asked for. */
  approve(id: string, options: CallOptions = {}): Promise<Approval> {
    return this.#transport.call({ ...options, method: "POST", path: apiPath("approvals", id, "approve"), body: {} });
  }

  /** Denies the tool call; the agent is told the reason. */
  reject(id: string, reason = "", options: CallOptions = {}): Promise<Approval> {
    return this.#transport.call({ ...options, method: "POST", path: apiPath("approvals", id, "reject"), body: { reason } });
  }
}
