"""A crew of CrewAI. Its model calls tools in words, and tells what it took, as CrewAI's own do."""

from __future__ import annotations

import json
import os
import re
from typing import Any

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from crewai import Agent, Crew, Task  # noqa: E402
from crewai.events.types.llm_events import LLMCallType  # noqa: E402
from crewai.llms.base_llm import BaseLLM, llm_call_context  # noqa: E402
from crewai.tools import tool  # noqa: E402

from .script import INPUT_TOKENS, MODEL, OUTPUT_TOKENS, Call, Hands, next_move, pace, words_of  # noqa: E402

SEES = "(image/png, 3 bytes) came along."
FORGETS_TOOLS = True  # it is told what was said
TOOLS_GO_ON = True  # when the caller cancels; test_crewai.py has what else happens then
FAILURE = "the oven is too cold for scones"  # what the model is told of a tool that fails
ADAPT = {"options": {"approve": ["erase"]}}
_USED = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}


class Scripted(BaseLLM):
    def call(self, messages: Any, *args: Any, **more: Any) -> Any:
        with llm_call_context():
            told = {"from_task": more.get("from_task"), "from_agent": more.get("from_agent")}
            self._emit_call_started_event(messages, **told)
            try:
                move = next_move(_said(messages))
            except RuntimeError as err:
                self._emit_call_failed_event(str(err), **told)
                raise
            if isinstance(move, Call):
                answer = f"Thought: I need it.\nAction: {move.tool}\nAction Input: {json.dumps(move.arguments)}"
            else:
                answer = f"Thought: I know it.\nFinal Answer: {move}"
            for piece in words_of(answer):
                self._emit_stream_chunk_event(piece, **told)
                if "Final Answer" in answer and piece not in ("Thought: ", "I ", "know ", "it.\n", "Final ", "Answer: "):
                    pace.wait()
            self._emit_call_completed_event(answer, LLMCallType.LLM_CALL, **told, usage=_USED)
            return answer

    async def acall(self, messages: Any, *args: Any, **more: Any) -> Any:
        return self.call(messages, *args, **more)


def _said(messages: Any) -> list[tuple[str, str]]:
    """The conversation in the task, and the result of the last tool."""
    for text in reversed([str(m["content"] or "") for m in messages]):
        if "Observation:" in text and "Action:" in text:
            return [("tool", text.rpartition("Observation:")[2].strip().splitlines()[0])]
        if lines := re.findall(r"^(?:Current Task: )?(user|assistant): (.*(?:\n\nThe file .*)?)", text, re.MULTILINE):
            return lines
    raise AssertionError(f"nobody said anything: {messages}")


def model() -> Any:
    return Scripted(model=MODEL)


def make(hands: Hands) -> Any:
    @tool("forecast")
    def forecast(city: str) -> str:
        """The forecast for a city."""
        return hands.forecast(city)

    @tool("erase")
    def erase(path: str) -> str:
        """Erase a file."""
        return hands.erase(path)

    @tool("bake")
    def bake(cake: str) -> str:
        """Bake a cake."""
        return hands.bake(cake)

    @tool("wait")
    async def wait() -> str:
        """Wait for a very long time."""
        return await hands.wait()

    tools = [forecast, erase, bake, wait]
    agent = Agent(role="helper", goal="help", backstory="none", llm=model(), tools=tools, max_retry_limit=0)
    task = Task(
        description="{history}\nuser: {message}",
        expected_output="An answer.",
        agent=agent,
    )
    return Crew(name="helpers", agents=[agent], tasks=[task])
