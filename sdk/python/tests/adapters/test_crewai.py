"""What CrewAI has besides."""

from __future__ import annotations

import threading
from typing import Any

from conftest import WITHIN, Server, wait_until
from crewai import Agent, Crew, Task
from crewai.tools import tool

from beeos import SyncClient, adapt

from .steps import place
from .with_crewai import Scripted, model


def crew_of(llm: Any, tools: Any = (), **more: Any) -> Any:
    agent = Agent(role="helper", goal="help", backstory="none", llm=llm, tools=list(tools), max_retry_limit=0)
    task = Task(description="{history}\nuser: {message}", expected_output="An answer.", agent=agent, **more)
    return Crew(name="helpers", agents=[agent], tasks=[task])


def test_cancel(server: Server, client: SyncClient) -> None:
    """A tool that has begun goes on, since CrewAI calls it in a thread; the model is not asked again."""
    began, release = threading.Event(), threading.Event()
    asked: list[int] = []

    class Counting(Scripted):
        def call(self, *args: Any, **more: Any) -> Any:
            asked.append(1)
            return super().call(*args, **more)

    @tool("wait")
    def wait() -> str:
        """Wait."""
        began.set()
        release.wait(WITHIN)
        return "at last"

    agent = adapt(crew_of(Counting(model="m"), [wait]), "patient", **place(server, "patient"))
    with server.serving(agent):
        task = client.create_task("patient", "wait")
        assert began.wait(WITHIN)
        client.cancel_task("patient", task.task_id, "enough")
        assert client.wait_for_task("patient", task.task_id).status == "canceled"
        release.set()
    agent.threads.shutdown(wait=True)
    assert len(asked) == 1


def test_review(server: Server, client: SyncClient) -> None:
    """A task with human_input is reviewed by the person until they agree."""
    with server.serving(adapt(crew_of(model(), human_input=True), "reviewed", **place(server, "reviewed"))):
        task = client.create_task("reviewed", "my name is Ada")
        asked = wait_until(lambda: client.task("reviewed", task.task_id).question, "the question")
        assert asked and asked["text"].startswith("Hello, Ada")
        client.continue_task("reviewed", task.task_id, "ok")
        assert client.wait_for_task("reviewed", task.task_id).text.startswith("Hello, Ada")
