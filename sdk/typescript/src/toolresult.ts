import type { Answer } from "./answer.ts";
import { isObject, type JsonObject } from "./frame.ts";

const partFields = new Set(["content", "structuredContent", "isError", "_meta"]);
const knownBlocks = new Set(["text", "image", "audio", "resource", "resource_link"]);

/**
 * Adds a result of MCP's tools/call that somebody else has made: as parts, which every surface knows, and as it
 * is where parts would say less.
 */
export function addToolResult(answer: Answer, result: JsonObject): { text: string; isError: boolean } {
  const content = Array.isArray(result.content) ? (result.content as unknown[]) : [];
  const structured = result.structuredContent;
  let known = Object.keys(result).every((name) => partFields.has(name));
  known &&= content.length > 0 || structured === undefined;
  let text = "";
  for (const block of content) {
    const { type } = answer.addPart(block);
    known &&= knownBlocks.has(type);
    if (type === "text") text += String((block as { text?: unknown }).text ?? "");
  }
  if (structured !== undefined) {
    known &&= isObject(structured);
    answer.addPart({ type: "structured", data: structured });
  }
  if (isObject(result._meta) && Object.keys(result._meta).length > 0) answer.setPayload("_meta", result._meta);
  if (!known) answer.setPayload("result", { content: [], ...result });
  return { text, isError: result.isError === true };
}
