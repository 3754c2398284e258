import { BeeosError } from "../errors.ts";
import type { JsonObject } from "../frame.ts";
import { apiPath, pageSize, type CallOptions, type Transport } from "./transport.ts";

/** An agent as the REST surface shows it. */
export interface AgentInfo {
  id: string;
  instanceId: string;
  name: string;
  displayName?: string;
  description?: string;
  slug?: string;
  status: "active" | "inactive";
  /** Somebody serves it now. */
  online: boolean;
  visibility: "private" | "unlisted" | "public" | "marketplace";
  mcpEnabled: boolean;
  mcpUrl?: string;
  a2aUrl?: string;
  deliveryMode?: string;
  version?: string;
  skills: { name: string; title?: string; description?: string; inputSchema?: JsonObject; exposeAsTool: boolean; tags?: string[] }[];
  createdAt: string;
  updatedAt: string;
}

/** The agents that a key reaches. */
export class Agents {
  readonly #transport: Transport;
  readonly #ids = new Map<string, string>(); // by what they were asked for

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Every agent that the key's user owns. */
  async list(options: CallOptions = {}): Promise<AgentInfo[]> {
    const all: AgentInfo[] = [];
    for (;;) {
      const path = `/api/v1/agents?limit=${pageSize}&offset=${all.length}`;
      const { data, total } = await this.#transport.callWhole<{ data: AgentInfo[]; total: number }>({ ...options, path });
      all.push(...data);
      if (data.length === 0 || all.length >= total) return all;
    }
  }

  get(id: string, options: CallOptions = {}): Promise<AgentInfo> {
    return this.#transport.call({ ...options, path: apiPath("agents", id) });
  }

  /** The agent of that id, slug, name or display name. All but ids are looked for among the user's own. */
  async find(agent: string, options: CallOptions = {}): Promise<AgentInfo> {
    if (isId(agent)) return this.get(agent, options);
    const all = await this.list(options);
    for (const field of ["slug", "name", "displayName"] as const) {
      const found = all.find((one) => one[field] === agent);
      if (found) return found;
    }
    throw new BeeosError("agent_not_found", `no agent is called "${agent}"`);
  }

  /** The id of an agent; names are looked up once. */
  async idOf(agent: string, options: CallOptions = {}): Promise<string> {
    if (isId(agent)) return agent;
    let id = this.#ids.get(agent);
    if (!id) {
      id = (await this.find(agent, options)).id;
      this.#ids.set(agent, id);
    }
    return id;
  }
}

function isId(agent: string): boolean {
  return /^agent_[a-z0-9]{16}$/.test(agent);
}
