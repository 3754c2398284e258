"""What every adapter must do, with the real framework and a real server. BEEOS_FRAMEWORK says which: its module here
has ``make(hands)``, which makes what is served, with a model that follows script.py."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from conftest import WITHIN, Server, run, wait_until

from beeos import Agent, SyncClient, adapt

from .script import INPUT_TOKENS, MODEL, OUTPUT_TOKENS, Hands, pace
from .steps import place, steps_of_last_call

FRAMEWORK = os.environ["BEEOS_FRAMEWORK"]
made_with = importlib.import_module(f".with_{FRAMEWORK}", __package__)


@contextmanager
def serving(server: Server, hands: Hands, name: str = FRAMEWORK) -> Iterator[Agent]:
    agent = adapt(made_with.make(hands), name, **place(server, name), **getattr(made_with, "ADAPT", {}))
    with server.serving(agent):
        yield agent


def test_conversation(server: Server, client: SyncClient) -> None:
    """Three turns know of each other, also when the agent is a new process for the third; other conversations do not."""
    with serving(server, Hands()):
        first = client.call(FRAMEWORK, "my name is Ada")
        assert first.text == "Hello, Ada, nice to meet you."
        assert client.call(FRAMEWORK, "what is my name?", context_id=first.context_id).text == "You are Ada."
        assert client.call(FRAMEWORK, "how many?", context_id=first.context_id).text == "You have said 3 things."
        assert client.call(FRAMEWORK, "what is my name?").text == "I do not know you."
    with serving(server, Hands()):
        assert client.call(FRAMEWORK, "what is my name?", context_id=first.context_id).text == "You are Ada."
        assert client.call(FRAMEWORK, "how many?", context_id=first.context_id).text == "You have said 5 things."


def test_images(server: Server, client: SyncClient) -> None:
    """Models see images where the framework has a place for them. A crew is told that they came; a function looks itself."""
    photo = client.upload("photo.png", b"\x01\x02\x03", "image/png")
    with serving(server, Hands()):
        answer = client.call(FRAMEWORK, "look", attachments=[photo])
    assert not answer.is_error and answer.text.endswith(getattr(made_with, "SEES", "<image/png: AQID>")), answer


if not getattr(made_with, "FORGETS_TOOLS", False):

    def test_tools_are_remembered(server: Server, client: SyncClient) -> None:
        """A new process knows what tools said."""
        with serving(server, Hands()):
            first = client.call(FRAMEWORK, "the forecast for Rome")
        with serving(server, Hands()):
            second = client.call(FRAMEWORK, "what did the tools say?", context_id=first.context_id)
            assert second.text == "They said: sunny in Rome."


def test_streaming(server: Server) -> None:
    seen = pace.begin()

    async def check() -> None:
        events = []
        async with server.async_client() as client:
            async for event in client.stream(FRAMEWORK, "my name is Bo"):
                events.append(event)
                if event.delta:
                    seen.release()
        deltas = [event.delta for event in events if event.delta]
        assert len(deltas) > 3 and "".join(deltas) == "Hello, Bo, nice to meet you."
        assert events[-1].done and events[-1].done.text == "Hello, Bo, nice to meet you."
        assert not pace.held_back, "the caller did not see a piece before the next one was said"
        assert pace.waits > 3, "the model did not wait for its pieces to be seen"

    try:
        with serving(server, Hands()):
            run(check())
    finally:
        pace.end()


def test_tool_is_a_step(server: Server, client: SyncClient) -> None:
    with serving(server, Hands()):
        answer = client.call(FRAMEWORK, "the forecast for Rome")
        assert answer.text == "The tool said: sunny in Rome."
        steps = steps_of_last_call(server, client, FRAMEWORK)
    assert [(step["kind"], step["name"]) for step in steps if step["kind"] == "tool"] == [("tool", "forecast")]
    models = [step for step in steps if step["kind"] == "model"]
    assert [step["kind"] for step in steps] == ["model", "tool", "model"], steps
    if getattr(made_with, "ESTIMATES_TOKENS", False):
        assert all(s["model"] == MODEL and s["input_tokens"] > 0 and s["output_tokens"] > 0 for s in models), models
    else:
        used = {(s["model"], s["input_tokens"], s["output_tokens"]) for s in models}
        assert used == {(MODEL, INPUT_TOKENS, OUTPUT_TOKENS)}
    assert all(step["took_us"] >= 0 and not step.get("error") for step in steps)


def test_approval(server: Server, client: SyncClient) -> None:
    """A tool that wants one is asked for with its arguments; a no reaches the model, and the tool does not run."""
    hands = Hands()
    with serving(server, hands):
        for path in ("yes", "no"):
            task = client.create_task(FRAMEWORK, f"erase {path}")
            asked = wait_until(lambda: [a for a in client.approvals() if a.arguments == {"path": path}], "the question")
            assert asked[0].tool == "erase"
            assert path not in hands.erased
            if path == "yes":
                client.approve(asked[0].id)
            else:
                client.reject(asked[0].id, "keep it")
            done = client.wait_for_task(FRAMEWORK, task.task_id)
            assert done.status == "completed", done
            assert ("erased yes" if path == "yes" else "keep it") in done.text, done.text
    assert hands.erased == ["yes"]


def test_failure(server: Server, client: SyncClient) -> None:
    with serving(server, Hands()):
        task = client.create_task(FRAMEWORK, "break")
        failed = client.wait_for_task(FRAMEWORK, task.task_id)
        assert failed.status == "failed" and "overloaded" in json.dumps(failed.error), failed
        assert client.call(FRAMEWORK, "my name is Cy").text.startswith("Hello")  # it lives on


def test_failing_tool(server: Server, client: SyncClient) -> None:
    """A tool that fails is a step with its error, whether the framework gives up over it or tells its model."""
    with serving(server, Hands()):
        task = client.create_task(FRAMEWORK, "bake scones")
        done = client.wait_for_task(FRAMEWORK, task.task_id)
        steps = steps_of_last_call(server, client, FRAMEWORK)
    (baked,) = [step for step in steps if step["kind"] == "tool"]
    assert baked["name"] == "bake" and "the oven is too cold for scones" in baked.get("error", ""), steps
    if told := getattr(made_with, "FAILURE", ""):
        assert done.status == "completed" and told in done.text, done
    else:
        assert done.status == "failed" and "the oven is too cold for scones" in json.dumps(done.error), done


if not getattr(made_with, "TOOLS_GO_ON", False):

    def test_cancel(server: Server, client: SyncClient) -> None:
        hands = Hands()
        with serving(server, hands):
            task = client.create_task(FRAMEWORK, "wait")
            assert hands.began.wait(WITHIN)
            client.cancel_task(FRAMEWORK, task.task_id, "enough")
            assert hands.cancelled.wait(WITHIN), "the tool goes on"
            assert client.wait_for_task(FRAMEWORK, task.task_id).status == "canceled"
