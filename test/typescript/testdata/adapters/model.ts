/** A model of the AI SDK that says what the script says. Mastra takes it, too. */
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { modelName, nextMove, say, sayImage, tokens, untilAborted, type Said } from "./script.ts";

type Options = Parameters<MockLanguageModelV4["doStream"]>[0];
type Part = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

function readPrompt(prompt: Options["prompt"]): Said[] {
  return prompt.map(({ role, content }) => {
    if (typeof content === "string") return { role, text: content };
    const texts = content.map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "file") return part.data.type === "data" ? sayImage(part.mediaType, part.data.data) : "";
      if (part.type !== "tool-result") return "";
      return part.output.type === "execution-denied" ? `denied: ${part.output.reason}` : "value" in part.output ? String(part.output.value) : "";
    });
    return { role, text: texts.join("") };
  });
}

let calls = 0;

export const model = new MockLanguageModelV4({
  modelId: modelName,
  doStream: async ({ prompt, abortSignal }) => {
    const move = nextMove(readPrompt(prompt));
    const finish = (unified: "stop" | "tool-calls"): Part => ({
      type: "finish",
      finishReason: { unified, raw: unified },
      usage: {
        inputTokens: { total: tokens.input, noCache: tokens.input, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: tokens.output, text: tokens.output, reasoning: 0 },
      },
    });
    const parts: Part[] = [{ type: "stream-start", warnings: [] }, { type: "response-metadata", id: "1", modelId: modelName, timestamp: new Date() }];
    if ("wait" in move) {
      return {
        stream: new ReadableStream<Part>({
          start(controller) {
            for (const part of [...parts, { type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "Let me think. " }] as Part[]) controller.enqueue(part);
            untilAborted(abortSignal).catch((error: unknown) => controller.error(error));
          },
        }),
      };
    }
    if ("tool" in move) {
      parts.push({ type: "tool-call", toolCallId: `call-${++calls}`, toolName: move.tool, input: JSON.stringify(move.args) }, finish("tool-calls"));
      return { stream: convertArrayToReadableStream(parts) };
    }
    async function* speak(text: { text: string[]; slowly?: boolean }): AsyncGenerator<Part, void, undefined> {
      yield* parts;
      yield { type: "text-start", id: "1" };
      for await (const delta of say(text)) yield { type: "text-delta", id: "1", delta };
      yield { type: "text-end", id: "1" };
      yield finish("stop");
    }
    return { stream: streamOf(speak(move)) };
  },
});

function streamOf<T>(parts: AsyncGenerator<T, void, undefined>): ReadableStream<T> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}
