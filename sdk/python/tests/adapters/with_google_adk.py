"""An agent of Google ADK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools import FunctionTool
from google.genai import types

from .script import INPUT_TOKENS, MODEL, OUTPUT_TOKENS, Call, Hands, next_move, pace, sight_of, words_of

_USED = types.GenerateContentResponseUsageMetadata(
    prompt_token_count=INPUT_TOKENS, candidates_token_count=OUTPUT_TOKENS, total_token_count=INPUT_TOKENS + OUTPUT_TOKENS
)


class Scripted(BaseLlm):
    async def generate_content_async(self, request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        move = next_move([_said(content, part) for content in request.contents for part in content.parts or []])
        if isinstance(move, Call):
            parts = [types.Part(function_call=types.FunctionCall(name=move.tool, args=move.arguments))]
        else:
            parts = [types.Part(text=move)]
            for piece in words_of(move) if stream else []:
                content = types.Content(role="model", parts=[types.Part(text=piece)])
                yield LlmResponse(content=content, partial=True)
                await pace.wait_async()
        yield LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=_USED)


def _said(content: Any, part: Any) -> tuple[str, str]:
    if part.function_response:
        response = part.function_response.response or {}
        return "tool", str(response.get("result") or response.get("error"))
    shown = sight_of(part.inline_data.mime_type, part.inline_data.data) if part.inline_data else ""
    return "user" if content.role == "user" else "assistant", part.text or shown


def model() -> Any:
    return Scripted(model=MODEL)


def make(hands: Hands) -> Any:
    tools: list[Any] = [hands.forecast, FunctionTool(hands.erase, require_confirmation=True), hands.bake, hands.wait]
    return LlmAgent(name="helper", model=model(), tools=tools)
