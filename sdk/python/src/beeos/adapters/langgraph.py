"""LangGraph graphs, and the agents of LangChain, which are such graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, messages_from_dict, messages_to_dict
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.graph import StateGraph
from langgraph.types import Command

from ..agent import Agent
from ..context import Context
from ..message import Message
from .asking import ask_person, find_objection
from .conversation import Conversations, Said, read_shown
from .inputs import Schema, offer_inputs
from .telling import Telling, to_plain

_MARK = "beeos_message"  # in the metadata of checkpoints: the message that they belong to


def adapt(graph: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
    if isinstance(graph, StateGraph):
        graph = graph.compile()
    name = name or (graph.name if graph.name != "LangGraph" else "")
    if not name:
        raise ValueError('the graph has no name; give it one: serve(graph, name="…")')
    agent = Agent(name, **settings)
    runs = _Runs(graph, options)
    if "messages" in graph.channels:
        agent.message(runs.answer)
    else:
        offer_inputs(agent, name, settings.get("description", ""), runs.schema, runs.answer_inputs)
    return agent


class _Runs:
    def __init__(self, graph: Any, options: dict[str, Any]) -> None:
        self._graph = graph
        self._options = {k: v for k, v in options.items() if k != "config"}
        self._config: dict[str, Any] = options.get("config") or {}
        self._remembers = isinstance(graph.checkpointer, BaseCheckpointSaver)
        self._talks: Conversations[list[BaseMessage]] = Conversations("langgraph")
        schema: Schema = graph.get_input_jsonschema() if "messages" not in graph.channels else {}
        # What takes one value of any kind has no name for it.
        self._wraps = bool(schema) and schema.get("type") != "object"
        self.schema = _object_of(schema) if self._wraps else schema

    async def answer(self, message: Message, ctx: Context) -> None:
        """Answer in a conversation: the channel is the graph's thread."""
        telling = Telling(ctx)
        graph, config = self._prepare(telling)
        state = await graph.aget_state(config)
        known: list[BaseMessage] = list((state.values or {}).get("messages") or [])
        begun = (state.metadata or {}).get(_MARK) == message.id  # by an instance that died over it
        given: Any = None
        if not known:
            past = await self._talks.read_past(ctx)
            known = [*(past.kept or []), *(m for said in past.said for m in _messages_of(said))]
            given = {"messages": [*known, await _read_message(message)]}
        elif not begun:
            given = {"messages": [await _read_message(message)]}
        if given is not None or state.next:
            state = await self._run(graph, config, given, telling)
        made: list[BaseMessage] = list(state.values["messages"])
        if not self._remembers:
            before = {m.id for m in known}
            self._talks.keep(ctx, made, to_plain(messages_to_dict([m for m in made if m.id not in before])))
        await telling.finish(state.values.get("structured_response") or _last_words(made))

    async def answer_inputs(self, inputs: dict[str, Any], ctx: Context) -> None:
        """Run a graph that does not chat."""
        telling = Telling(ctx)
        graph, config = self._prepare(telling)
        state = await self._run(graph, config, inputs[_VALUE] if self._wraps else inputs, telling)
        await telling.finish(state.values)

    def _prepare(self, telling: Telling) -> tuple[Any, dict[str, Any]]:
        """The graph with something that keeps its state, at least until it has answered: it could not stop for
        a question otherwise."""
        graph = self._graph if self._remembers else self._graph.copy(update={"checkpointer": InMemorySaver()})
        config = dict(self._config)
        message = telling.ctx.message
        config["configurable"] = {"thread_id": message.channel, **(config.get("configurable") or {})}
        config["metadata"] = {**(config.get("metadata") or {}), _MARK: message.id}
        config["callbacks"] = [*(config.get("callbacks") or []), _Trail(telling)]
        return graph, config

    async def _run(self, graph: Any, config: dict[str, Any], given: Any, telling: Telling) -> Any:
        """Run the graph to its end, and answer what it stops for."""
        modes = ["messages", "updates"]
        while True:
            stream = graph.astream(given, config, stream_mode=modes, **self._options)
            async with contextlib.aclosing(stream):
                async for mode, data in stream:
                    if mode == "messages":
                        await _say(telling, data[0])
            state = await graph.aget_state(config)
            if not state.interrupts:
                return state
            given = Command(resume={i.id: await _answer_interrupt(telling.ctx, i.value) for i in state.interrupts})


async def _say(telling: Telling, piece: Any) -> None:
    if not isinstance(piece, AIMessage):
        return
    for block in piece.content_blocks:
        if block["type"] == "text":
            await telling.say(block["text"])
        elif block["type"] == "reasoning" and block.get("reasoning"):
            await telling.ctx.reasoning(block["reasoning"])


async def _read_message(message: Message) -> HumanMessage:
    words, pictures = await read_shown(message)
    if not pictures:
        return HumanMessage(words, id=message.id)
    content: list[Any] = [{"type": "text", "text": words}] if words else []
    # In the form that the models of all makers take.
    content += [{"type": "image_url", "image_url": {"url": p.url}} for p in pictures]
    return HumanMessage(content, id=message.id)


def _messages_of(said: Said) -> list[BaseMessage]:
    if said.turn is not None:
        return list(messages_from_dict(said.turn))
    return [(HumanMessage if said.role == "user" else AIMessage)(said.text, id=said.id)]


def _last_words(messages: list[BaseMessage]) -> str:
    last = messages[-1] if messages else None
    return str(last.text) if isinstance(last, AIMessage) else ""


# What takes a single value, such as a function with @entrypoint, gets it under this name.
_VALUE = "input"


def _object_of(schema: Schema) -> Schema:
    schema = {k: v for k, v in schema.items() if k not in ("title", "$defs")} | {}
    return {"type": "object", "properties": {_VALUE: schema}, "required": [_VALUE]}


# Interrupts.


async def _answer_interrupt(ctx: Context, value: Any) -> Any:
    """What a graph goes on with: decisions about tool calls, or what the person says."""
    if isinstance(value, Mapping):
        if "action_requests" in value:  # of LangChain's HumanInTheLoopMiddleware
            return {"decisions": [await _decide(ctx, call["name"], call["args"]) for call in value["action_requests"]]}
        if value.get("type") == "tool_approval":  # of the same, one by one
            return await _decide(ctx, value["name"], value["args"])
        if "tool" in value and "arguments" in value:
            no = await find_objection(ctx, str(value["tool"]), value["arguments"])
            return {"approved": no is None, "reason": no or ""}
    calls = value if isinstance(value, list) else [value]
    if calls and all(isinstance(c, Mapping) and isinstance(c.get("action_request"), Mapping) for c in calls):
        return [await _review(ctx, call["action_request"]) for call in calls]  # HumanInterrupt, as it used to be
    return await ask_person(ctx, value)


async def _decide(ctx: Context, tool: str, arguments: Any) -> dict[str, Any]:
    no = await find_objection(ctx, tool, arguments)
    return {"type": "approve"} if no is None else {"type": "reject", "message": no}


async def _review(ctx: Context, request: Mapping[str, Any]) -> dict[str, Any]:
    no = await find_objection(ctx, str(request.get("action")), request.get("args"))
    return {"type": "accept", "args": None} if no is None else {"type": "response", "args": no}


# Steps.


class _Trail(BaseCallbackHandler):
    """Model and tool calls of a run, wherever in the graph they are made."""

    run_inline = True  # in order, and in the thread that makes them

    def __init__(self, telling: Telling) -> None:
        self._telling = telling

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **more: Any) -> None:
        self._telling.break_off()
        self._telling.begin(run_id, _model_of(more), "model", more.get("parent_run_id"))

    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: Any, **more: Any) -> None:
        self._telling.begin(run_id, _model_of(more), "model", more.get("parent_run_id"))

    def on_llm_end(self, response: Any, *, run_id: Any, **more: Any) -> None:
        step = self._telling.end(run_id)
        if step is None:
            return
        for generations in response.generations:
            for one in generations[:1]:
                message: Any = getattr(one, "message", None)
                used = getattr(message, "usage_metadata", None)
                if used:
                    model = message.response_metadata.get("model_name") or step.name
                    step.tokens(model, used["input_tokens"], used["output_tokens"])

    def on_llm_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        self._telling.end(run_id, error)

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, **more: Any) -> None:
        name = more.get("name") or (serialized or {}).get("name") or "tool"
        self._telling.begin(run_id, name, "tool", more.get("parent_run_id"))

    def on_tool_end(self, output: Any, *, run_id: Any, **more: Any) -> None:
        failed = getattr(output, "status", "") == "error"
        self._telling.end(run_id, getattr(output, "content", "failed") if failed else None)

    def on_tool_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        """A tool that stops for a question has not failed."""
        if not isinstance(error, GraphBubbleUp):
            self._telling.end(run_id, error)
        elif step := self._telling.end(run_id):
            step.set("stopped", "for a question")


def _model_of(told: dict[str, Any]) -> str:
    about = told.get("metadata") or {}
    asked = told.get("invocation_params") or {}
    return str(about.get("ls_model_name") or asked.get("model") or asked.get("model_name") or "model")


