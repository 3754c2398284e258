"""An agent of Pydantic AI."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import BinaryContent, ModelMessage, SystemPromptPart, TextPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from .script import MODEL, Call, Hands, next_move, pace, sight_of, words_of

ESTIMATES_TOKENS = True  # FunctionModel counts words
_ROLES = {UserPromptPart: "user", SystemPromptPart: "system", TextPart: "assistant", ToolReturnPart: "tool"}


async def say(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    parts = [part for message in messages for part in message.parts]
    move = next_move([(_ROLES.get(type(part), ""), _words_of(getattr(part, "content", ""))) for part in parts])
    if isinstance(move, Call):
        yield {0: DeltaToolCall(move.tool, json.dumps(move.arguments), tool_call_id=f"call_{len(parts)}")}
        return
    for piece in words_of(move):
        yield piece
        await pace.wait_async()


def _words_of(content: Any) -> str:
    """What stands in a part: a text, or a list of texts and images."""
    listed = content if isinstance(content, list) else [content]
    return " ".join(sight_of(one.media_type, one.data) if isinstance(one, BinaryContent) else str(one) for one in listed)


def model() -> Any:
    return FunctionModel(stream_function=say, model_name=MODEL)


def make(hands: Hands) -> Any:
    tools = [hands.forecast, Tool(hands.erase, requires_approval=True), hands.bake, hands.wait]
    return Agent(model(), tools=tools)
