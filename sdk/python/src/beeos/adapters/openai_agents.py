"""Agents of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

from agents import RunConfig, RunHooks, Runner
from agents.models.default_models import get_default_model

from ..agent import Agent
from ..context import Context
from ..message import Message
from .asking import find_objection
from .conversation import Conversations, Said, read_shown
from .telling import Telling, to_plain

# A conversation: its items, and the agent that it was handed to.
_Record = tuple[list[Any], Any]


def adapt(agent: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
    """``session`` among the options is a function from the id of a conversation to the session that keeps it."""
    if "hooks" in options:
        raise TypeError("hooks belong to the agent here: set agent.hooks")
    made = Agent(name or agent.name, **settings)
    made.message(_Runs(agent, options).answer)
    return made


class _Runs:
    def __init__(self, agent: Any, options: dict[str, Any]) -> None:
        self._agent = agent
        self._options = {k: v for k, v in options.items() if k != "session"}
        self._session: Callable[[str], Any] | None = options.get("session")
        self._talks: Conversations[_Record] = Conversations("openai_agents")

    async def answer(self, message: Message, ctx: Context) -> None:
        telling = Telling(ctx)
        before: list[Any] = []
        witness = _Witness(telling)
        options = {**self._options, "hooks": witness, "run_config": witness.watch(self._options.get("run_config"))}
        words, pictures = await read_shown(message)
        shown = [{"type": "input_image", "detail": "auto", "image_url": p.url} for p in pictures]
        content: Any = [*([{"type": "input_text", "text": words}] if words else []), *shown] if shown else words
        said: list[Any] = [{"role": "user", "content": content}]
        agent, given = self._agent, cast(Any, said if shown else words)
        if self._session is not None:
            options["session"] = self._session(message.channel)
        else:
            past = await self._talks.read_past(ctx)
            items, agent = past.kept or ([], agent)
            before = [*items, *(item for said in past.said for item in _items_of(said))]
            given = [*before, *said]
        while True:
            result = Runner.run_streamed(agent, given, **options)
            await _stream(telling, result)
            if not result.interruptions:
                break
            given = result.to_state()
            for call in result.interruptions:
                no = await find_objection(ctx, str(call.name), call.arguments)
                if no is None:
                    given.approve(call)
                else:
                    given.reject(call, rejection_message=no)
        if self._session is None:
            items = result.to_input_list()
            added = items[len(before) :] if items[: len(before)] == before else []  # else a handoff has filtered them
            self._talks.keep(ctx, (items, result.last_agent), to_plain(added))
        await telling.finish(result.final_output)


async def _stream(telling: Telling, result: Any) -> None:
    try:
        async for event in result.stream_events():
            if event.type != "raw_response_event":
                continue
            if event.data.type == "response.output_text.delta":
                await telling.say(event.data.delta)
            elif event.data.type in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
                await telling.ctx.reasoning(event.data.delta)
    except Exception as err:
        telling.end_all(err)
        raise
    finally:
        if not result.is_complete:  # it runs in a task of its own
            result.cancel(mode="immediate")


def _items_of(said: Said) -> list[Any]:
    return [{"role": said.role, "content": said.text}] if said.turn is None else said.turn


class _Witness(RunHooks[Any]):
    """Notes which models and tools a run asks."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._failures: dict[str, Exception] = {}  # by the calls of tools, until they end

    def watch(self, config: RunConfig | None) -> RunConfig:
        """Also hear why tools fail, which hooks are not told. Of one that has a failure_error_function of its own
        only that knows."""
        config = config or RunConfig()
        told = config.tool_error_formatter

        def note(args: Any) -> Any:
            if args.error is not None:
                self._failures[args.call_id] = args.error
            return told(args) if told else None  # None: what the model is told is as it was

        return dataclasses.replace(config, tool_error_formatter=note)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self._telling.break_off()
        self._telling.begin(("model", agent.name), _model_of(agent), "model")

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        if step := self._telling.end(("model", agent.name)):
            step.tokens(step.name, response.usage.input_tokens, response.usage.output_tokens)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self._telling.begin(_key_of(context, tool), tool.name, "tool")

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        failure = self._failures.pop(getattr(context, "tool_call_id", None) or "", None)
        self._telling.end(_key_of(context, tool), failure)


def _key_of(context: Any, tool: Any) -> tuple[str, str]:
    return "tool", getattr(context, "tool_call_id", None) or tool.name


def _model_of(agent: Any) -> str:
    model = agent.model
    if model is None:
        return str(get_default_model())
    return model if isinstance(model, str) else str(getattr(model, "model", type(model).__name__))
