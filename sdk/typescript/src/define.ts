import type { AgentOptions, HandlerResult } from "./agent.ts";
import type { JsonObject } from "./frame.ts";
import type { Definition } from "./gateway.ts";
import { jsonSchemaOf, type Infer, type Schema } from "./schema.ts";
import type { Turn } from "./turn.ts";

/** One skill of an agent. Callers see it as an MCP tool. */
export interface ToolOptions<S extends Schema = Schema> {
  title?: string;
  description?: string;
  /** Of the arguments; any object when left out. */
  schema?: S;
  /** Of the structured content. */
  outputSchema?: Schema;
  /** Hints for clients, as MCP has them: readOnlyHint, destructiveHint and so on. */
  annotations?: JsonObject;
  icons?: readonly JsonObject[];
  execution?: JsonObject;
  meta?: JsonObject;
  tags?: readonly string[];
  /** Listed as a skill, not offered as a tool. */
  hidden?: boolean;
  /** The agent's handler of messages when left out. */
  handler?: (args: Infer<S>, turn: Turn) => HandlerResult;
}

/** Something that clients can read: static with `text` or `blob`, otherwise answered by `read`. */
export interface ResourceOptions {
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  annotations?: JsonObject;
  icons?: readonly JsonObject[];
  meta?: JsonObject;
  text?: string;
  blob?: Uint8Array;
  /** Gives the content, or adds it to the turn itself. The agent's handler of messages when left out. */
  read?: (uri: string, turn: Turn) => string | Uint8Array | undefined | void | Promise<string | Uint8Array | undefined | void>;
}

export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

export interface PromptMessage {
  role: "user" | "assistant";
  content: JsonObject;
}

type Rendered = string | readonly PromptMessage[] | undefined | void;

/** A template of messages: static with `messages`, in which {argument} is replaced, otherwise made by `handler`. */
export interface PromptOptions {
  title?: string;
  description?: string;
  arguments?: readonly PromptArgument[];
  icons?: readonly JsonObject[];
  meta?: JsonObject;
  messages?: readonly PromptMessage[];
  /** Gives the messages, or the text of one. The agent's handler of messages when left out. */
  handler?: (args: Record<string, string>, turn: Turn) => Rendered | Promise<Rendered>;
}

export type Tool = Omit<ToolOptions, "handler"> & { name: string; handler?: (args: unknown, turn: Turn) => HandlerResult };
export type Resource = ResourceOptions & { uri: string };
export type Prompt = PromptOptions & { name: string };

interface Offers {
  tools: Tool[];
  resources: Resource[];
  prompts: Prompt[];
  completions: boolean;
}

/** What an agent says about itself in a sync. What is not said is left out; the gateway checks the rest. */
export function defineAgent(name: string, options: AgentOptions, offers: Offers): Definition {
  return {
    ...said({
      displayName: options.displayName,
      description: options.description,
      version: options.version,
      model: options.model,
      instructions: options.instructions,
      delivery_mode: options.deliveryMode,
      redelivery: options.redelivery,
      lane: options.lane,
      timeout_ms: options.timeoutMs,
      capabilities: options.capabilities,
      completions: offers.completions,
      skills: offers.tools.map((tool) => defineTool(name, tool)),
      resources: offers.resources.map(defineResource),
      prompts: offers.prompts.map(definePrompt),
    }),
    name,
  };
}

function defineTool(agent: string, { schema, outputSchema, meta, hidden, handler: _, ...rest }: Tool): JsonObject {
  const what = `agent ${agent}: tool "${rest.name}"`;
  return said({
    ...rest,
    inputSchema: schema && jsonSchemaOf(schema, "input", what),
    outputSchema: outputSchema && jsonSchemaOf(outputSchema, "output", what),
    _meta: meta,
    ...(hidden && { exposeAsTool: false }),
  });
}

function defineResource({ uri, meta, blob, read: _, ...rest }: Resource): JsonObject {
  return {
    ...said({ ...rest, _meta: meta, ...(isTemplate(uri) ? { uriTemplate: uri } : { uri }) }),
    ...(rest.text !== undefined && { text: rest.text }), // also when it is empty
    ...(blob && { blob: Buffer.from(blob).toString("base64") }),
  };
}

function definePrompt({ meta, handler: _, ...rest }: Prompt): JsonObject {
  return said({ ...rest, _meta: meta });
}

/** An object without fields that say nothing; `exposeAsTool: false` does say something. */
function said(fields: JsonObject): JsonObject {
  const entries = Object.entries(fields).filter(([name, value]) => {
    if (name === "exposeAsTool") return true;
    return value !== undefined && value !== "" && value !== 0 && value !== false && !(Array.isArray(value) && value.length === 0);
  });
  return Object.fromEntries(entries);
}

function isTemplate(uri: string): boolean {
  return /\{[^{}]*\}/.test(uri);
}

/** Reports whether a resource stands for an address. A template's expressions match anything. */
export function isResourceFor(resource: Resource, uri: string): boolean {
  if (!isTemplate(resource.uri)) return uri === resource.uri;
  const literal = resource.uri.split(/\{[^{}]*\}/).map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`, "s").test(uri);
}
