"""What LlamaIndex's workflows have besides."""

from __future__ import annotations

from conftest import Server, wait_until
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)

from beeos import SyncClient, adapt

from .steps import place


class Wish(StartEvent):
    topic: str


class Poet(Workflow):
    @step
    async def ask(self, ev: Wish) -> InputRequiredEvent:
        return InputRequiredEvent(prefix="In which metre?", topic=ev.topic)

    @step
    async def write(self, ctx: Context, ev: HumanResponseEvent) -> StopEvent:
        return StopEvent(result={"poem": f"O {ev.topic}, in {ev.response}"})


class Shout(Workflow):
    @step
    async def shout(self, ev: StartEvent) -> StopEvent:
        return StopEvent(result=ev.words.upper())


def test_question(server: Server, client: SyncClient) -> None:
    """A workflow takes its inputs, as text where one is all that it needs, and asks the person."""
    with server.serving(adapt(Poet(), "poet", **place(server, "poet"))):
        task = client.create_task("poet", "bees")
        asked = wait_until(lambda: client.task("poet", task.task_id).question, "the question")
        assert asked["text"] == "In which metre?"
        client.continue_task("poet", task.task_id, "hexameter")
        assert client.wait_for_task("poet", task.task_id).text == '{"poem":"O bees, in hexameter"}'


def test_undeclared_input(server: Server, client: SyncClient) -> None:
    with server.serving(adapt(Shout(), "shouter", options={"input": "words"}, **place(server, "shouter"))):
        assert client.call("shouter", "hello").text == "HELLO"
        assert client.call_tool("shouter", "shouter", {"words": "again"}).text == "AGAIN"
