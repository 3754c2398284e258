/** What graphs and other runnables of LangChain.js have in common. */
import { isObject, type JsonObject } from "../frame.ts";
import type { Exchange } from "./past.ts";
import { failureOf, type Talk } from "./talk.ts";

/** A message, of LangChain or as a plain object. */
export interface LangMessage {
  id?: string;
  content?: unknown;
  text?: unknown;
  tool_calls?: { id?: string; name: string; args: unknown }[];
  tool_call_id?: string;
  name?: string;
  status?: string;
  usage_metadata?: { input_tokens?: number; output_tokens?: number };
  response_metadata?: { model_name?: string; model?: string };
  getType?(): string;
}

/** The text of a message, or of a piece of one. */
export function langText(message: unknown): string {
  if (typeof message === "string") return message;
  const { text, content } = (message ?? {}) as LangMessage;
  if (typeof text === "string") return text;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block: { type?: string; text?: string }) => (block.type === "text" ? (block.text ?? "") : "")).join("");
}

export async function streamPiece(talk: Talk, piece: LangMessage | string): Promise<boolean> {
  const content = isObject(piece) ? piece.content : undefined;
  for (const block of Array.isArray(content) ? (content as JsonObject[]) : []) {
    const thought = block.type === "reasoning" ? block.reasoning : block.type === "thinking" ? block.thinking : undefined;
    if (typeof thought === "string") await talk.turn.reasoning(thought);
  }
  const text = langText(piece);
  if (text) await talk.turn.delta(text);
  return text !== "";
}

/** The conversation so far and what is said now, as LangChain takes messages. */
export function retellAll(past: Exchange[], now: unknown): JsonObject[] {
  const before = past.flatMap(({ asked, answered, memory }) => [
    { role: "user", content: asked },
    ...(Array.isArray(memory?.messages) ? (memory.messages as JsonObject[]) : answered ? [{ role: "assistant", content: answered }] : []),
  ]);
  return [...before, { role: "user", content: now }];
}

/** What is said now, with images in the form that the models of all makers take. */
export function contentOf({ shown: { text, images } }: Talk): unknown {
  if (images.length === 0) return text;
  const shown = images.map(({ mediaType, data }) => ({ type: "image_url", image_url: { url: `data:${mediaType};base64,${data}` } }));
  return [...(text ? [{ type: "text", text }] : []), ...shown];
}

/** What to keep of a message. */
export function keepMessage(message: LangMessage): JsonObject {
  const content = langText(message);
  if (message.tool_call_id) return { role: "tool", content, tool_call_id: message.tool_call_id, name: message.name, status: message.status };
  const calls = message.tool_calls?.map(({ id, name, args }) => ({ id, name, args, type: "tool_call" }));
  return { role: "assistant", content, ...(calls?.length && { tool_calls: calls }) };
}

interface LLMResult {
  generations?: { message?: LangMessage }[][];
}

/** Callbacks that make steps of what models and tools do. */
export function stepsOf(talk: Talk): JsonObject {
  return {
    awaitHandlers: true, // a step that is told after the answer would be lost
    handleChatModelStart: (_model: unknown, _messages: unknown, run: string) => talk.modelBegins(run),
    handleLLMStart: (_model: unknown, _prompts: unknown, run: string) => talk.modelBegins(run),
    handleLLMEnd: ({ generations }: LLMResult, run: string) => {
      const { usage_metadata: usage, response_metadata: told } = generations?.[0]?.[0]?.message ?? {};
      talk.modelTook(told?.model_name ?? told?.model ?? "", usage?.input_tokens, usage?.output_tokens, run);
    },
    handleLLMError: (error: unknown, run: string) => talk.ends(run, failureOf(error)),
    handleToolStart: (tool: { id?: string[]; name?: string } | undefined, _input: unknown, run: string, _parent?: string, _tags?: unknown, _metadata?: unknown, name?: string) =>
      talk.toolBegins(run, name ?? tool?.name ?? tool?.id?.at(-1) ?? "tool"),
    handleToolEnd: (_output: unknown, run: string) => talk.ends(run),
    handleToolError: (error: unknown, run: string) => talk.ends(run, isInterrupt(error) ? undefined : failureOf(error)),
  };
}

/** A tool that waits for somebody says so by throwing. */
function isInterrupt(error: unknown): boolean {
  return error instanceof Error && /Interrupt$/.test(error.name);
}
