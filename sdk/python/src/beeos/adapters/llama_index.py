"""LlamaIndex workflows, and LlamaIndex's agents, which are workflows."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from llama_index.core.agent.workflow import AgentStream, ToolCall, ToolCallResult
from llama_index.core.agent.workflow.workflow_events import AgentWorkflowStartEvent
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent, LLMChatStartEvent
from llama_index.core.instrumentation.events.span import SpanDropEvent
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from workflows.events import HumanResponseEvent, InputRequiredEvent

from ..agent import Agent
from ..context import Context
from ..message import Message
from .asking import ask_person, find_objection
from .conversation import Conversations, Said, read_shown
from .inputs import Schema, offer_inputs
from .telling import Telling

# Whose answer is being made, where LlamaIndex tells of its models.
_current: ContextVar[Telling | None] = ContextVar("beeos_telling", default=None)


def adapt(workflow: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
    """``input`` among the options is what a workflow without declared inputs calls the text that it takes."""
    witness = _Witness()
    handlers = get_dispatcher().event_handlers
    if not any(isinstance(known, _Witness) for known in handlers):
        handlers.append(witness)
    own = getattr(workflow, "name", None)
    agent = Agent(name or (own if isinstance(own, str) else "") or type(workflow).__name__, **settings)
    runs = _Runs(workflow, options)
    if issubclass(workflow.start_event_class, AgentWorkflowStartEvent):
        agent.message(runs.answer)
    else:
        schema = _schema_of(workflow.start_event_class, str(options.get("input") or "input"))
        offer_inputs(agent, agent.name, settings.get("description", ""), schema, runs.answer_inputs)
    return agent


def _schema_of(start: Any, text: str) -> Schema:
    schema: Schema = start.model_json_schema()
    if schema.get("properties"):
        return schema
    return {"type": "object", "properties": {text: {"type": "string"}}}


class _Runs:
    def __init__(self, workflow: Any, options: dict[str, Any]) -> None:
        self._workflow = workflow
        self._options = {k: v for k, v in options.items() if k != "input"}
        self._talks: Conversations[list[Any]] = Conversations("llama_index")

    async def answer(self, message: Message, ctx: Context) -> None:
        """Answer in a conversation with an agent."""
        past = await self._talks.read_past(ctx)
        before = [*(past.kept or []), *(m for said in past.said for m in _messages_of(said))]
        words, pictures = await read_shown(message)
        shown = [ImageBlock(image=p.data, image_mimetype=p.media_type) for p in pictures]
        told = [TextBlock(text=words)] if words else []
        asked = ChatMessage(role="user", blocks=[*told, *shown]) if shown else words
        given = {"user_msg": asked, "chat_history": before}
        telling = Telling(ctx)
        handler, result = await self._run(given, telling)
        memory = await handler.ctx.store.get("memory", default=None)
        if memory is not None:
            record = list(await memory.aget_all())
            added = record[len(before) :] if record[: len(before)] == before else []  # else it has let go of some
            self._talks.keep(ctx, record, [m.model_dump(mode="json") for m in added])
        await telling.finish(result.structured_response or result.response.content or "")

    async def answer_inputs(self, inputs: dict[str, Any], ctx: Context) -> None:
        """Run a workflow of any other kind."""
        telling = Telling(ctx)
        _, result = await self._run(inputs, telling)
        await telling.finish(result)

    async def _run(self, given: dict[str, Any], telling: Telling) -> tuple[Any, Any]:
        _current.set(telling)
        handler = self._workflow.run(**{**self._options, **given})
        ended = False
        try:
            async for event in handler.stream_events():
                await _take(event, handler, telling)
            result = await handler
            ended = True
        except Exception as err:
            telling.end_all(err)
            ended = True
            raise
        finally:
            if not ended:  # it runs in tasks of its own
                await handler.cancel_run()
        return handler, result


async def _take(event: Any, handler: Any, telling: Telling) -> None:
    if isinstance(event, AgentStream):
        await telling.say(event.delta)
        await telling.ctx.reasoning(event.thinking_delta or "")
    elif isinstance(event, ToolCall):
        if not telling.is_open(("tool", event.tool_id)):  # one that waited for an event is called again
            telling.begin(("tool", event.tool_id), event.tool_name, "tool")
    elif isinstance(event, ToolCallResult):
        output = event.tool_output
        telling.end(("tool", event.tool_id), output.content if output.is_error else None)
    elif isinstance(event, InputRequiredEvent):
        handler.ctx.send_event(await _answer_event(event, telling.ctx))


def _messages_of(said: Said) -> list[Any]:
    if said.turn is not None:
        return [ChatMessage.model_validate(one) for one in said.turn]
    return [ChatMessage(role=said.role, content=said.text)]


async def _answer_event(event: Any, ctx: Context) -> Any:
    """What a workflow waits for. It may want back what it asked with, to tell its questions apart."""
    told = event.model_dump()
    asked = {**told, **told.pop("_data", {})}  # what its class does not declare
    asked.pop("_data", None)
    if "tool" in asked and "arguments" in asked:
        no = await find_objection(ctx, str(asked["tool"]), asked["arguments"])
        given: dict[str, Any] = {"response": "yes" if no is None else "no", "approved": no is None, "reason": no or ""}
    else:
        said = await ask_person(ctx, asked)
        given = said if isinstance(said, dict) else {"response": said}
    return HumanResponseEvent(**{**asked, **given})


class _Witness(BaseEventHandler):
    """Notes which models are asked, by whatever step."""

    @classmethod
    def class_name(cls) -> str:
        return "BeeOS"

    def handle(self, event: Any, **more: Any) -> None:
        telling = _current.get()
        if telling is None:
            return
        if isinstance(event, LLMChatStartEvent):
            telling.break_off()
            telling.begin(("model", event.span_id), _model_of(event.model_dict), "model")
        elif isinstance(event, SpanDropEvent):
            telling.end(("model", event.span_id), event.err_str)
        elif isinstance(event, LLMChatEndEvent):
            step = telling.end(("model", event.span_id))
            if step is not None and event.response is not None:
                step.tokens(step.name, *_tokens_of(event.response))


def _model_of(about: dict[str, Any]) -> str:
    return str(about.get("model") or about.get("model_name") or about.get("class_name") or "model")


def _tokens_of(response: Any) -> tuple[int, int]:
    """What a provider says that it took; each has its own place for it."""
    raw = response.raw
    places = [response.additional_kwargs, raw, _member(raw, "usage"), _member(raw, "usage_metadata")]
    for place in places:
        for taken, made in _COUNTS:
            if isinstance(_member(place, taken), int):
                return _member(place, taken), _member(place, made) or 0
    return 0, 0


_COUNTS = (
    ("prompt_tokens", "completion_tokens"),
    ("input_tokens", "output_tokens"),
    ("prompt_token_count", "candidates_token_count"),
)


def _member(place: Any, name: str) -> Any:
    return place.get(name) if isinstance(place, dict) else getattr(place, name, None)
