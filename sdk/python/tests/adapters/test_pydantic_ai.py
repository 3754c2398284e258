"""What Pydantic AI has besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conftest import Server, wait_until
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from beeos import SyncClient, adapt

from .steps import place


class Weather(BaseModel):
    city: str
    degrees: float


@dataclass
class Deps:
    city: str


def test_structured_output_and_deps(server: Server, client: SyncClient) -> None:
    model = TestModel(custom_output_args={"city": "Rome", "degrees": 21.5})
    agent = Agent(model, name="meteo", deps_type=Deps, output_type=Weather)
    seen: list[str] = []

    @agent.tool
    def where(ctx: RunContext[Deps]) -> str:
        seen.append(ctx.deps.city)
        return ctx.deps.city

    with server.serving(adapt(agent, options={"deps": Deps("Rome")}, **place(server, "meteo"))):
        answer = client.call("meteo", "how is it?")
    assert answer.text == '{"city":"Rome","degrees":21.5}' and seen == ["Rome"]


def test_work_that_is_done_elsewhere(server: Server, client: SyncClient) -> None:
    """A deferred call that is no approval is a question to the person."""

    def say(messages: list[ModelMessage], info: AgentInfo) -> Any:
        last = messages[-1].parts[-1]
        if last.part_kind == "tool-return":
            return ModelResponse(parts=[TextPart(f"It says {last.content}.")])
        return ModelResponse(parts=[ToolCallPart("read_meter", {"room": "attic"})])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> Any:
        (part,) = say(messages, info).parts
        yield part.content if isinstance(part, TextPart) else {0: DeltaToolCall(part.tool_name, part.args_as_json_str())}

    agent = Agent(FunctionModel(stream_function=stream))

    @agent.tool_plain
    def read_meter(room: str) -> str:
        raise CallDeferred

    with server.serving(adapt(agent, "meter", **place(server, "meter"))):
        task = client.create_task("meter", "read it")
        asked = wait_until(lambda: client.task("meter", task.task_id).question, "the question")
        assert asked["text"] == "What does read_meter say?"
        client.continue_task("meter", task.task_id, "42")
        assert client.wait_for_task("meter", task.task_id).text == "It says 42."
