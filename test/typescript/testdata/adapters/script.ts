/** What the scripted models say, whichever framework asks them. */

/** A message as the frameworks have it in common. */
export interface Said {
  role: "user" | "assistant" | "tool" | "system";
  text: string;
}

/** How an image stands in what a user says. */
export function sayImage(mediaType: string | undefined, data: unknown): string {
  return `<${mediaType}: ${typeof data === "string" ? data : Buffer.from(data as Uint8Array).toString("base64")}>`;
}

/** What a model does next. A text that is said slowly goes on once the caller has seen the piece before. */
export type Move = { text: string[]; slowly?: boolean } | { tool: string; args: Record<string, unknown> } | { wait: true };

/** Tokens that a model claims for each of its moves. */
export const tokens = { input: 7, output: 5 };

export const modelName = "scripted-1";

/** Decides by what the user said last, and what tools have answered since. */
export function nextMove(conversation: Said[]): Move {
  const last = conversation.findLastIndex(({ role }) => role === "user");
  const asked = conversation[last]?.text ?? "";
  const results = conversation.slice(last + 1).filter(({ role }) => role === "tool");
  const result = results.at(-1)?.text;
  const [, name] = /my name is (\w+)/.exec(conversation.filter(({ role }) => role === "user").map(({ text }) => text).join("\n")) ?? [];
  if (asked.startsWith("my name is")) return { text: ["Nice to meet you, ", `${name}.`] };
  if (asked === "what is my name?") return { text: ["Your name is ", `${name}.`] };
  if (asked === "what did the tools say?") {
    return { text: [conversation.filter(({ role }) => role === "tool").map(({ text }) => text).join("; ")] };
  }
  if (asked.startsWith("weather in ")) return result ? { text: ["They say: ", result] } : { tool: "forecast", args: { city: asked.slice("weather in ".length) } };
  if (asked.startsWith("delete ")) return result ? { text: ["Well: ", result] } : { tool: "delete_file", args: { path: asked.slice("delete ".length) } };
  if (asked === "ask me") return result ? { text: ["You said ", result] } : { tool: "ask_person", args: { question: "Which city?" } };
  if (asked === "break a tool") return result ? { text: ["The tool says: ", result] } : { tool: "broken", args: {} };
  if (asked.startsWith("look")) return { text: ["I see: ", asked] };
  if (asked === "what did I show you?") return { text: ["You showed me: ", conversation.find(({ role, text }) => role === "user" && text.startsWith("look"))?.text ?? "nothing"] };
  if (asked === "count slowly") return { text: ["One, ", "two, ", "three, ", "four."], slowly: true };
  if (asked === "fail") throw new Error("the model is down");
  if (asked === "wait") return { wait: true };
  return { text: [`I do not know what "${asked}" means.`] };
}

let seen = 0; // pieces, as the test tells with a signal for each
let hear: (() => void) | undefined;
process.on("SIGUSR2", () => {
  seen++;
  hear?.();
});

/** The pieces of a text. What is held back on its way to the caller is never seen, and the model gives up. */
export async function* say({ text, slowly }: { text: string[]; slowly?: boolean }): AsyncGenerator<string, void, undefined> {
  const before = seen;
  for (const [said, piece] of text.entries()) {
    if (slowly && seen - before < said) {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`the caller has not seen piece ${said}`)), 20_000);
        hear = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    yield piece;
  }
}

export function forecast(city: string): string {
  console.log("forecast", city);
  return `sunny in ${city}`;
}

export function deleteFile(path: string): string {
  console.log("deleted", path);
  return `${path} is gone`;
}

export function broken(): string {
  throw new Error("the tool is broken");
}

/** Waits until the model is told to stop. */
export function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  console.log("waiting");
  return new Promise((_, reject) => {
    const stop = () => {
      console.log("model aborted");
      reject(signal!.reason as Error);
    };
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
