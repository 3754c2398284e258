"""Agents of Google ADK, and apps that hold one."""

from __future__ import annotations

import contextlib
from typing import Any

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from ..agent import Agent
from ..context import Context
from ..message import Message
from .asking import ask_person, find_objection
from .conversation import Conversations, Said, read_shown
from .telling import Telling, to_plain

_CONFIRM = "adk_request_confirmation"
_INPUT = "adk_request_input"

# A conversation: its events, and the state that tools and callbacks keep.
_Record = tuple[list[Any], dict[str, Any]]


def adapt(agent: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
    """``options`` are more arguments of the Runner, such as ``session_service``, and ``run_config``."""
    app = agent if isinstance(agent, App) else App(name=agent.name, root_agent=agent)
    about = {"description": getattr(app.root_agent, "description", "") or ""}
    made = Agent(name or app.name.replace("_", "-"), **{**about, **settings})
    made.message(_Runs(app, options).answer)
    return made


class _Runs:
    def __init__(self, app: Any, options: dict[str, Any]) -> None:
        self._app = app
        self._options = {k: v for k, v in options.items() if k not in ("session_service", "run_config")}
        self._sessions = options.get("session_service")
        self._config = options.get("run_config") or RunConfig(streaming_mode=StreamingMode.SSE)
        self._talks: Conversations[_Record] = Conversations("google_adk")

    async def answer(self, message: Message, ctx: Context) -> None:
        telling = Telling(ctx)
        witness = _Witness(telling)
        app = self._app.model_copy(update={"plugins": [*self._app.plugins, witness]})
        sessions = self._sessions or InMemorySessionService()
        place = {"app_name": app.name, "user_id": message.sender or "user", "session_id": message.channel}
        before = await self._open_session(sessions, place, ctx)
        runner = Runner(app=app, session_service=sessions, **self._options)
        last = _Last()
        words, pictures = await read_shown(message)
        shown = [types.Part.from_bytes(data=p.data, mime_type=p.media_type) for p in pictures]
        told = [types.Part(text=words)] if words or not shown else []
        given = types.Content(role="user", parts=[*told, *shown])
        while given is not None:
            calls = await self._run(runner, place, given, telling, last)
            parts = [await _answer_call(call, witness, ctx) for call in calls]
            given = types.Content(role="user", parts=parts) if parts else None
        if self._sessions is None:
            session = await sessions.get_session(**place)
            added = [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in session.events[before:]]
            self._talks.keep(ctx, (list(session.events), dict(session.state)), added)
        await telling.finish(last.text)

    async def _open_session(self, sessions: Any, place: dict[str, Any], ctx: Context) -> int:
        """Go on with the session of the channel, or begin one with what was said before; how many events that is."""
        if self._sessions is not None and await sessions.get_session(**place):
            return 0
        past = await self._talks.read_past(ctx)
        events, state = past.kept or ([], {})
        session = await sessions.create_session(**place, state=state)
        events = [*events, *(event for said in past.said for event in _events_of(said, self._app))]
        for event in events:
            await sessions.append_event(session, event)
        return len(events)

    async def _run(self, runner: Any, place: dict[str, Any], given: Any, telling: Telling, last: _Last) -> list[Any]:
        """Run until the agent has answered, or stops for something; the calls that it stops for."""
        where = {k: v for k, v in place.items() if k != "app_name"}
        waiting: list[Any] = []
        events = runner.run_async(**where, new_message=given, run_config=self._config)
        async with contextlib.aclosing(events):
            async for event in events:
                if event.error_code and not event.content:
                    raise RuntimeError(event.error_message or event.error_code)
                await last.take(event, telling)
                waiting += [c for c in event.get_function_calls() if c.name in (_CONFIRM, _INPUT) and not event.partial]
        return waiting


class _Last:
    """The text of the last message. What is streamed in pieces is said once more as a whole."""

    def __init__(self) -> None:
        self.text = ""
        self._streamed = False

    async def take(self, event: Any, telling: Telling) -> None:
        parts = (event.content.parts if event.content else None) or []
        text = "".join(p.text for p in parts if p.text and not p.thought)
        if thought := "".join(p.text for p in parts if p.text and p.thought):
            if event.partial or not self._streamed:
                await telling.ctx.reasoning(thought)
        if event.partial:
            self._streamed = True
            await telling.say(text)
        else:
            if not self._streamed:
                await telling.say(text)
            self._streamed = False
            self.text = text or self.text


def _events_of(said: Said, app: Any) -> list[Any]:
    if said.turn is not None:
        return [Event.model_validate(one) for one in said.turn]
    user = said.role == "user"
    content = types.Content(role="user" if user else "model", parts=[types.Part(text=said.text)])
    return [Event(author="user" if user else app.root_agent.name, content=content, invocation_id=said.id)]


# What an agent stops for.


async def _answer_call(call: Any, witness: _Witness, ctx: Context) -> Any:
    asked = dict(call.args or {})
    if call.name == _INPUT:
        said = await ask_person(ctx, {"message": "The agent needs to know more.", **_present(asked)})
        response: dict[str, Any] = said if isinstance(said, dict) else {"result": said}
    else:
        wanted = asked.get("originalFunctionCall") or {}
        no = await find_objection(ctx, str(wanted.get("name")), wanted.get("args"))
        response = {"confirmed": no is None}
        if no is not None:
            witness.denied[str(wanted.get("id"))] = no
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=response))


def _present(asked: dict[str, Any]) -> dict[str, Any]:
    return {k: to_plain(v) for k, v in asked.items() if v is not None}


class _Witness(BasePlugin):
    """Notes which models and tools a run asks, and why a tool may not be called."""

    def __init__(self, telling: Telling) -> None:
        super().__init__(name="beeos")
        self._telling = telling
        self.denied: dict[str, str] = {}  # by the call's id, in the owner's words

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        self._telling.break_off()
        self._telling.begin(("model", callback_context.agent_name), llm_request.model or "model", "model")

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        if llm_response.partial:
            return
        if step := self._telling.end(("model", callback_context.agent_name), llm_response.error_message):
            used = llm_response.usage_metadata
            model = llm_response.model_version or step.name
            step.tokens(model, *(_count(used, n) for n in ("prompt_token_count", "candidates_token_count")))

    async def on_model_error_callback(self, *, callback_context: Any, llm_request: Any, error: Exception) -> None:
        self._telling.end(("model", callback_context.agent_name), error)

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> dict[str, Any] | None:
        key = str(tool_context.function_call_id)
        if no := self.denied.pop(key, None):
            return {"error": no}
        self._telling.begin(("tool", key), tool.name, "tool")
        return None

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> None:
        self._telling.end(("tool", tool_context.function_call_id))

    async def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: Exception) -> None:
        self._telling.end(("tool", tool_context.function_call_id), error)


def _count(used: Any, name: str) -> int:
    return int(getattr(used, name, None) or 0)
