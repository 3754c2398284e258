"""CrewAI crews.

A crew runs in a thread with an event loop of its own: its hooks are not async, and some of them wait for people.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Collection, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from crewai.core.providers.human_input import SyncHumanInputProvider, set_provider
from crewai.events import (
    LLMCallCompletedEvent,
    LLMCallFailedEvent,
    LLMCallStartedEvent,
    LLMStreamChunkEvent,
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    crewai_event_bus,
)
from crewai.hooks.dispatch import InterceptionPoint, scoped_hooks

from ..agent import Agent
from ..context import Context
from .asking import ask_person, find_objection
from .inputs import Schema, offer_inputs
from .telling import Telling

T = TypeVar("T")

# The run whose crew tells something.
_current: ContextVar[_Run | None] = ContextVar("beeos_crew", default=None)


def adapt(crew: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
    """``approve`` among the options names the tools that the owner is asked about; True is all of them."""
    name = name or (crew.name if crew.name not in (None, "crew") else "")
    if not name:
        raise ValueError('the crew has no name; give it one: serve(crew, name="…")')
    agent = Agent(name, **settings)
    approve = options.get("approve") or ()
    _listen()

    async def run(inputs: dict[str, Any], ctx: Context) -> None:
        await _Run(crew.copy(), ctx, approve).answer(inputs)

    offer_inputs(agent, name, settings.get("description", ""), _schema_of(crew), run)
    return agent


def _schema_of(crew: Any) -> Schema:
    """The placeholders of its tasks and agents."""
    wanted = sorted(crew.fetch_inputs())
    return {"type": "object", "properties": {name: {"type": "string"} for name in wanted}, "required": wanted}


class _Run:
    """One answer of a crew."""

    def __init__(self, crew: Any, ctx: Context, approve: bool | Collection[str]) -> None:
        crew.stream = False  # its models may stream; this would change what kickoff returns
        self._crew = crew
        self._ctx = ctx
        self._approve = approve
        self._loop = asyncio.get_running_loop()
        self._last_task = str(crew.tasks[-1].id) if crew.tasks else ""
        self._words = _FinalWords()
        self._objections: dict[int, str] = {}  # by the arguments of the call
        self.failures: dict[str, Any] = {}  # by tool, of its last try
        self.telling = Telling(ctx)

    async def answer(self, inputs: dict[str, Any]) -> None:
        result = await self._run_apart(inputs)
        await self.telling.finish(result.pydantic or result.json_dict or result.raw)

    async def _run_apart(self, inputs: dict[str, Any]) -> Any:
        began: asyncio.Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = self._loop.create_future()

        async def work() -> Any:
            task = asyncio.current_task()
            assert task is not None
            self._loop.call_soon_threadsafe(began.set_result, (asyncio.get_running_loop(), task))
            if self._ctx._turn.cause:  # cancelled before it began
                return None
            set_provider(_Reviewer(self))
            hooks = {
                InterceptionPoint.PRE_TOOL_CALL: [self._before_tool],
                InterceptionPoint.POST_TOOL_CALL: [self._after_tool],
            }
            with scoped_hooks(hooks):
                return await self._crew.akickoff(inputs=inputs)

        _current.set(self)
        in_context = contextvars.copy_context().run
        thread = self._loop.run_in_executor(self._ctx.agent.threads, in_context, asyncio.run, work())
        try:
            result = await asyncio.shield(thread)
        except asyncio.CancelledError:
            # CrewAI calls tools in threads: one that has begun goes on, and nothing comes after it.
            thread.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            if began.done():
                apart, task = began.result()
                apart.call_soon_threadsafe(task.cancel)
            raise
        except Exception as err:
            self.telling.end_all(err)
            raise
        await asyncio.to_thread(crewai_event_bus.flush)  # what it has told is noted by other threads
        return result

    # In the thread of the crew.

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something that is done where the agent is served."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _before_tool(self, call: Any) -> bool | None:
        """False: the tool is not called. Whatever goes wrong here is a no."""
        crewai_event_bus.flush()  # so that steps are in order
        if self._approve is True or isinstance(self._approve, Collection) and call.tool_name in self._approve:
            try:
                no = self.wait_for(find_objection(self._ctx, call.tool_name, dict(call.tool_input)))
            except BaseException as err:
                no = f"nobody could be asked: {err}"
            if no is not None:
                self._objections[id(call.tool_input)] = no
                return False
        self.telling.begin(("tool", id(call.tool_input)), call.tool_name, "tool")
        return None

    def _after_tool(self, call: Any) -> str | None:
        crewai_event_bus.flush()  # so that it is known whether the tool has failed: its result is what the model is told
        key = id(call.tool_input)
        self.telling.end(("tool", key), self.failures.pop(call.tool_name, None))
        return self._objections.pop(key, None)

    def hear(self, piece: Any) -> None:
        """Stream what the last task says; what comes before it are thoughts."""
        if piece.tool_call or not piece.chunk:
            return
        if piece.task_id != self._last_task:
            self.wait_for(self._ctx.reasoning(piece.chunk))
        elif text := self._words.take(piece.call_id, piece.chunk):
            self.wait_for(self.telling.say(text))


class _FinalWords:
    """What a model says that is an answer. Models that call tools in words think aloud before it."""

    _MARK = "Final Answer:"

    def __init__(self) -> None:
        self._call = ""
        self._text = ""
        self._answers = False

    def take(self, call: str, piece: str) -> str:
        if call != self._call:
            self._call, self._text, self._answers = call, "", False
        if self._answers:
            return piece
        self._text += piece
        _, mark, answer = self._text.partition(self._MARK)
        if mark:
            self._text = answer.lstrip()
            self._answers = bool(self._text)
            return self._text
        if "Thought:".startswith(self._text.lstrip()[:8]) or self._text.lstrip().startswith(("Action:", "Final")):
            return ""
        self._answers = True
        return self._text


class _Reviewer(SyncHumanInputProvider):
    """Lets the person review the result of a task with human_input, until they have nothing more to say."""

    _CONTENT = ("", "ok", "okay", "yes", "y", "fine", "good", "accept", "approve", "approved")

    def __init__(self, run: _Run) -> None:
        self._run = run

    async def handle_feedback_async(self, formatted_answer: Any, context: Any) -> Any:
        answer = formatted_answer
        while context.ask_for_human_input:
            question = f"{self._get_output_string(answer)}\n\nIs that right? If not, say what to change."
            asking = asyncio.run_coroutine_threadsafe(ask_person(self._run._ctx, question), self._run._loop)
            said = str(await asyncio.wrap_future(asking)).strip()
            if said.lower().rstrip(".!") in self._CONTENT:
                context.ask_for_human_input = False
            else:
                context.messages.append(context._format_feedback_message(said))
                answer = await context._ainvoke_loop()
        return answer

    def handle_feedback(self, formatted_answer: Any, context: Any) -> Any:
        raise RuntimeError("a task with human_input must run async")


# Models. Other threads tell of them, in the context of the run.


_listening: list[bool] = []


def _listen() -> None:
    """Hear what all crews tell of their models, once."""
    if _listening:
        return
    _listening.append(True)
    crewai_event_bus.on(LLMCallStartedEvent)(_on_started)
    crewai_event_bus.on(LLMCallCompletedEvent)(_on_completed)
    crewai_event_bus.on(LLMCallFailedEvent)(_on_failed)
    crewai_event_bus.on(LLMStreamChunkEvent)(_on_piece)
    crewai_event_bus.on(ToolUsageErrorEvent)(_on_tool_failed)
    crewai_event_bus.on(ToolUsageFinishedEvent)(_on_tool_finished)


def _on_started(source: Any, event: Any) -> None:
    if run := _current.get():
        run.telling.break_off()
        run.telling.begin(("model", event.call_id), event.model or "model", "model")


def _on_completed(source: Any, event: Any) -> None:
    run = _current.get()
    step = run.telling.end(("model", event.call_id)) if run else None
    if step is not None and event.usage:
        used = event.usage
        taken = used.get("prompt_tokens") or used.get("input_tokens") or 0
        step.tokens(event.model or step.name, taken, used.get("completion_tokens") or used.get("output_tokens") or 0)


def _on_failed(source: Any, event: Any) -> None:
    if run := _current.get():
        run.telling.end(("model", event.call_id), event.error)


def _on_piece(source: Any, event: Any) -> None:
    if run := _current.get():
        run.hear(event)


def _on_tool_failed(source: Any, event: Any) -> None:
    if run := _current.get():
        run.failures[event.tool_name] = event.error


def _on_tool_finished(source: Any, event: Any) -> None:
    if run := _current.get():  # it may have failed before, and was tried again
        run.failures.pop(event.tool_name, None)
