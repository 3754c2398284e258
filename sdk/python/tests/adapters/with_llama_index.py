"""An agent of LlamaIndex. It asks for approval as its documents say: a tool waits for an event.

LlamaIndex looks for the annotation Context of a tool as it is, so annotations are not put off here.
"""

from collections.abc import AsyncGenerator
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ImageBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from .script import INPUT_TOKENS, MODEL, OUTPUT_TOKENS, Call, Hands, next_move, pace, sight_of, words_of

FAILURE = "the oven is too cold for scones"  # what the model is told of a tool that fails
_USED = {"usage": {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}}


class Scripted(MockFunctionCallingLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=MODEL, is_function_calling_model=True, is_chat_model=True)

    @llm_chat_callback()
    async def astream_chat(self, messages: Any, **more: Any) -> Any:
        move = next_move([(m.role.value, (m.content or "") + _sights_in(m)) for m in messages])

        async def stream() -> AsyncGenerator[ChatResponse, None]:
            if isinstance(move, Call):
                call = ToolCallBlock(tool_call_id=f"call_{len(messages)}", tool_name=move.tool, tool_kwargs=move.arguments)
                yield ChatResponse(message=ChatMessage(role="assistant", blocks=[call]), delta="", raw=_USED)
                return
            said = ""
            for piece in words_of(move):
                said += piece
                yield ChatResponse(message=ChatMessage(role="assistant", content=said), delta=piece, raw=_USED)
                await pace.wait_async()

        return stream()


def _sights_in(message: ChatMessage) -> str:
    shown = [block for block in message.blocks if isinstance(block, ImageBlock)]
    return "".join(sight_of(str(block.image_mimetype), bytes(block.image).decode()) for block in shown)


def model() -> Any:
    return Scripted()


def make(hands: Hands) -> Any:
    async def erase(ctx: Context, path: str) -> str:
        """Erase a file."""
        asked = InputRequiredEvent(prefix="May I?", tool="erase", arguments={"path": path})
        said = await ctx.wait_for_event(
            HumanResponseEvent, waiter_id=path, waiter_event=asked, requirements={"tool": "erase"}
        )
        return hands.erase(path) if said.approved else str(said.reason)

    return FunctionAgent(name="helper", llm=model(), tools=[hands.forecast, erase, hands.bake, hands.wait], timeout=None)
