"""A LangChain agent, which is a LangGraph graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool

from .script import INPUT_TOKENS, MODEL, OUTPUT_TOKENS, Call, Hands, next_move, pace, sight_of, words_of

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}
_USED = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}


class Scripted(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _get_ls_params(self, stop: Any = None, **more: Any) -> Any:
        return {"ls_model_name": MODEL}

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _stream(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any) -> Iterator[Any]:
        move = next_move([(_ROLES.get(m.type, "system"), m.text + _sights_in(m)) for m in messages])
        pieces = [""] if isinstance(move, Call) else words_of(move)
        for piece in pieces[:-1]:
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
            pace.wait()
        calls: list[Any] = []
        if isinstance(move, Call):
            about = {"name": move.tool, "args": json.dumps(move.arguments), "id": f"call_{len(messages)}", "index": 0}
            calls = [about]
        last = AIMessageChunk(content=pieces[-1], tool_call_chunks=calls, usage_metadata=_USED)
        yield ChatGenerationChunk(message=last)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any) -> ChatResult:
        whole: Any = None
        for chunk in self._stream(messages):
            whole = chunk if whole is None else whole + chunk
        return ChatResult(generations=[ChatGeneration(message=whole.message)])


def _sights_in(message: BaseMessage) -> str:
    blocks = [block for block in message.content_blocks if block["type"] == "image"]
    return "".join(sight_of(str(block["mime_type"]), str(block["base64"])) for block in blocks)


def model() -> Any:
    return Scripted()


def make(hands: Hands) -> Any:
    tools = [tool(hands.forecast), tool(hands.erase), tool(hands.bake), tool(hands.wait)]
    return create_agent(model(), tools, middleware=[HumanInTheLoopMiddleware(interrupt_on={"erase": True})])
