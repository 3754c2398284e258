"""An agent of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, function_tool, set_tracing_disabled
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseUsage,
)

from .script import INPUT_TOKENS, MODEL, OUTPUT_TOKENS, Call, Hands, next_move, pace, sight_of, words_of

FAILURE = "An error occurred while running the tool."  # what the model is told of one that fails

set_tracing_disabled(True)


class Scripted(Model):
    model = MODEL

    async def get_response(self, *args: Any, **more: Any) -> ModelResponse:
        raise NotImplementedError("these are streamed")

    async def stream_response(self, system: Any, given: Any, *args: Any, **more: Any) -> AsyncIterator[Any]:
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        move = next_move([_said(item) for item in items])
        if isinstance(move, Call):
            call = f"call_{len(items)}"
            made: Any = ResponseFunctionToolCall(
                name=move.tool, arguments=json.dumps(move.arguments), call_id=call, type="function_call"
            )
        else:
            for number, piece in enumerate(words_of(move)):
                yield ResponseTextDeltaEvent(
                    delta=piece, content_index=0, item_id="m", output_index=0, logprobs=[],
                    sequence_number=number, type="response.output_text.delta",
                )
                await pace.wait_async()
            text = ResponseOutputText(text=move, type="output_text", annotations=[])
            made = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        response = Response(
            id="r", created_at=0, model=MODEL, object="response", output=[made], tool_choice="auto", tools=[],
            parallel_tool_calls=False, usage=ResponseUsage(
                input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS, total_tokens=INPUT_TOKENS + OUTPUT_TOKENS,
                input_tokens_details={"cached_tokens": 0, "cache_write_tokens": 0},
                output_tokens_details={"reasoning_tokens": 0},
            ),
        )
        yield ResponseCompletedEvent(response=response, sequence_number=99, type="response.completed")


def _said(item: Any) -> tuple[str, str]:
    if item.get("type") == "function_call_output":
        return "tool", str(item["output"])
    content = item.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part.get("text") or _sight_of(part) for part in content)
    return str(item.get("role", "")), content


def _sight_of(part: Any) -> str:
    media_type, _, data = str(part.get("image_url", "")).removeprefix("data:").partition(";base64,")
    return sight_of(media_type, data) if data else ""


def model() -> Any:
    return Scripted()


def make(hands: Hands) -> Any:
    tools = [
        function_tool(hands.forecast),
        function_tool(hands.erase, needs_approval=True),
        function_tool(hands.bake),
        function_tool(hands.wait),
    ]
    return Agent(name="helper", model=model(), tools=tools)
