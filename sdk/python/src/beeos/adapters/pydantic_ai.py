"""Agents of Pydantic AI."""

from __future__ import annotations

from typing import Any

from pydantic_ai import messages as said_by
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied

from ..agent import Agent
from ..context import Context
from ..message import Message
from .asking import ask_person, find_objection
from .conversation import Conversations, Said, read_shown
from .telling import Telling


def adapt(agent: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
    name = name or agent.name or ""
    if not name:
        raise ValueError('the agent has no name; give it one: serve(agent, name="…")')
    made = Agent(name, **settings)
    made.message(_Runs(agent, options).answer)
    return made


class _Runs:
    def __init__(self, agent: Any, options: dict[str, Any]) -> None:
        self._agent = agent
        self._options = {k: v for k, v in options.items() if k != "capabilities"}
        self._capabilities: list[Any] = list(options.get("capabilities") or [])
        self._talks: Conversations[list[Any]] = Conversations("pydantic_ai")

    async def answer(self, message: Message, ctx: Context) -> None:
        telling = Telling(ctx)
        past = await self._talks.read_past(ctx)
        options = {
            **self._options,
            "message_history": [*(past.kept or []), *(m for said in past.said for m in _messages_of(said))],
            "capabilities": [*self._capabilities, _Witness(ctx)],
        }
        words, pictures = await read_shown(message)
        shown = [said_by.BinaryContent(data=p.data, media_type=p.media_type) for p in pictures]
        prompt: Any = [*([words] if words else []), *shown] if shown else words
        async with self._agent.run_stream_events(prompt, **options) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    added = said_by.ModelMessagesTypeAdapter.dump_python(event.result.new_messages(), mode="json")
                    self._talks.keep(ctx, event.result.all_messages(), added)
                    await telling.finish(event.result.output)
                    return
                await _say(telling, event)


async def _say(telling: Telling, event: Any) -> None:
    if isinstance(event, said_by.PartStartEvent):
        if isinstance(event.part, said_by.TextPart):
            telling.break_off()
            await telling.say(event.part.content)
        elif isinstance(event.part, said_by.ThinkingPart):
            await telling.ctx.reasoning(event.part.content)
    elif isinstance(event, said_by.PartDeltaEvent):
        if isinstance(event.delta, said_by.TextPartDelta):
            await telling.say(event.delta.content_delta)
        elif isinstance(event.delta, said_by.ThinkingPartDelta):
            await telling.ctx.reasoning(event.delta.content_delta or "")


def _messages_of(said: Said) -> list[Any]:
    if said.turn is not None:
        return list(said_by.ModelMessagesTypeAdapter.validate_python(said.turn))
    if said.role == "user":
        return [said_by.ModelRequest(parts=[said_by.UserPromptPart(said.text)])]
    return [said_by.ModelResponse(parts=[said_by.TextPart(said.text)])]


class _Witness(AbstractCapability[Any]):
    """Notes what a run does, and answers what it stops for."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
        model = str(request_context.model.model_name)
        with self._ctx.step(model, "model") as step:
            response = await handler(request_context)
            used = response.usage
            step.tokens(response.model_name or model, used.input_tokens, used.output_tokens)
        return response

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        with self._ctx.step(str(call.tool_name), "tool"):
            return await handler(args)

    async def handle_deferred_tool_calls(self, ctx: Any, *, requests: DeferredToolRequests) -> DeferredToolResults:
        """Tools that must be approved are asked for; what is done elsewhere, the person is asked to tell."""
        results = DeferredToolResults()
        for call in requests.approvals:
            no = await find_objection(self._ctx, call.tool_name, call.args)
            results.approvals[call.tool_call_id] = True if no is None else ToolDenied(no)
        for call in requests.calls:
            question = {"question": f"What does {call.tool_name} say?", "tool": call.tool_name, "arguments": call.args}
            results.calls[call.tool_call_id] = await ask_person(self._ctx, question)
        return results
