/** What is said now, as Vercel's AI SDK and Mastra have the content of a message. */
import type { JsonObject } from "../frame.ts";
import type { Talk } from "./talk.ts";

export function partsOf({ shown: { text, images } }: Talk): string | JsonObject[] {
  if (images.length === 0) return text;
  return [...(text ? [{ type: "text", text }] : []), ...images.map((image) => ({ type: "file", ...image }))];
}
