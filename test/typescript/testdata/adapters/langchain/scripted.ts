/** A model of LangChain.js that says what the script says. */
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { modelName, nextMove, say, sayImage, tokens, untilAborted, type Said } from "./script.ts";

const roles: Record<string, Said["role"]> = { human: "user", ai: "assistant", tool: "tool", system: "system" };

let calls = 0;

export class Scripted extends BaseChatModel {
  constructor() {
    super({});
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  override _generate(): Promise<ChatResult> {
    throw new Error("it only streams");
  }

  override async *_streamResponseChunks(messages: BaseMessage[], options: this["ParsedCallOptions"], run?: CallbackManagerForLLMRun): AsyncGenerator<ChatGenerationChunk> {
    const move = nextMove(messages.map((message) => ({ role: roles[message.getType()] ?? "system", text: message.text + imagesOf(message) })));
    if ("wait" in move) {
      yield piece({ content: "Let me think. " });
      await untilAborted(options.signal);
    } else if ("tool" in move) {
      yield piece({ content: "", tool_call_chunks: [{ type: "tool_call_chunk", name: move.tool, args: JSON.stringify(move.args), id: `call-${++calls}`, index: 0 }] });
    } else {
      for await (const content of say(move)) {
        yield piece({ content });
        await run?.handleLLMNewToken(content);
      }
    }
    const usage = { input_tokens: tokens.input, output_tokens: tokens.output, total_tokens: tokens.input + tokens.output };
    yield piece({ content: "", usage_metadata: usage, response_metadata: { model_name: modelName } });
  }
}

function imagesOf({ content }: BaseMessage): string {
  if (typeof content === "string") return "";
  const urls = content.flatMap((block) => (block.type === "image_url" ? [(block.image_url as { url: string }).url] : []));
  return urls.map((url) => /^data:(.*);base64,(.*)$/.exec(url)).map((found) => sayImage(found?.[1], found?.[2])).join("");
}

function piece(fields: { content: string } & Partial<AIMessageChunk>): ChatGenerationChunk {
  return new ChatGenerationChunk({ text: fields.content, message: new AIMessageChunk(fields) });
}
