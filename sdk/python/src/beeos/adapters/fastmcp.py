"""FastMCP servers: their tools, resources and prompts become the agent's.

The server runs inside this process. One session with it lists what it offers and keeps it up; each message has a
session of its own, so that what the server logs and asks in the middle of it is its caller's and nobody else's. What
the server keeps for a session (``ctx.set_state``) it keeps for the conversation: all sessions of one have its name.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from typing import Any

import mcp_types as mcp
from fastmcp import Client
from fastmcp.server.middleware import Middleware
from mcp import MCPError

from ..agent import Agent
from ..context import Context
from ..errors import Fault, Refuse
from ..trace import current_trace
from .conversation import read_words
from .inputs import read_inputs
from .telling import to_json

_CHANGED = (
    mcp.ToolListChangedNotification,
    mcp.ResourceListChangedNotification,
    mcp.PromptListChangedNotification,
)

# The conversation that a session is for; empty for the one that lists.
_channel: ContextVar[str] = ContextVar("beeos_channel", default="")


def adapt(server: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
    """``options`` are more arguments of FastMCP's Client."""
    about = {"description": server.instructions or "", "version": server.version or ""}
    if not any(isinstance(known, _Naming) for known in server.middleware):
        server.add_middleware(_Naming())
    return _Server(server, name or server.name, options, {**about, **settings})


class _Naming(Middleware):
    """Names a session after its conversation, where the server looks for what it has kept for a session."""

    async def on_message(self, context: Any, call_next: Any) -> Any:
        session = context.fastmcp_context.session if context.fastmcp_context else None
        connection = getattr(session, "_connection", None)
        if _channel.get() and connection is not None:
            connection.session_id = _channel.get()
        return await call_next(context)


class _Server(Agent):
    def __init__(self, server: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> None:
        super().__init__(name, **settings)
        self._server = server
        self._options = options
        self._offers: dict[str, Any] = {}
        self._relisting: set[asyncio.Task[None]] = set()
        self._log = logging.LoggerAdapter(logging.getLogger("beeos"), {"agent": name})

    # What it offers.

    async def serve(self) -> None:
        async with self._connect() as base:
            self._offers = await _list_offers(base)
            await super().serve()

    def definition(self) -> dict[str, Any]:
        return {**super().definition(), **self._offers}

    def _connect(self, **handlers: Any) -> Any:
        """A session in which the server can ask and tell in mid-call."""
        return Client(self._server, mode="legacy", message_handler=self._hear, **{**self._options, **handlers})

    async def _hear(self, notice: Any) -> None:
        if isinstance(notice, mcp.ResourceUpdatedNotification):
            self.resource_updated(str(notice.params.uri))
        elif isinstance(notice, _CHANGED):
            task = asyncio.ensure_future(self._relist())
            self._relisting.add(task)
            task.add_done_callback(self._relisting.discard)

    async def _relist(self) -> None:
        try:
            async with self._connect() as session:
                self._offers = await _list_offers(session)
            await self.redeclare()
        except Exception as err:
            self._log.warning("what the server offers now cannot be declared: %s", err)

    # Answering.

    async def answer(self, ctx: Context) -> None:
        message = ctx.message
        if message.trace:
            current_trace.set(message.trace)
        if not message.method:
            tool, arguments = self._read_talk(await read_words(message))
        else:
            tool, arguments = message.tool, message.arguments
        _channel.set(message.channel)  # of this task, and of what it begins
        async with self._connect(**_handlers_of(ctx)) as session:
            try:
                if tool:
                    await self._call_tool(session, tool, arguments, ctx)
                else:
                    ctx.result(_plain(await _ask_server(session, ctx)))
            except MCPError as err:
                raise Fault(err.code, err.message, err.data) from err

    def _read_talk(self, text: str) -> tuple[str, dict[str, Any]]:
        """Where there are no tools, a server with one tool is that tool."""
        tools = self._offers.get("skills") or []
        if len(tools) != 1:
            raise Refuse("this agent does not chat; call one of its tools")
        return tools[0]["name"], read_inputs(text, tools[0].get("inputSchema") or {})

    async def _call_tool(self, session: Any, tool: str, arguments: dict[str, Any], ctx: Context) -> None:
        async def progress(done: float, total: float | None, words: str | None) -> None:
            await ctx.progress(done, total or 0, words or "")

        await ctx.approve(tool, arguments, auto=True)  # only where the owner, or the tool itself, wants it
        with ctx.step(tool, "tool") as step:
            result = _plain(await session.call_tool_mcp(tool, arguments, progress_handler=progress))
            text = "".join(block["text"] for block in result["content"] if block["type"] == "text")
            failed = bool(result.get("isError"))
            if failed:
                step.end(text or "the tool answered with an error")
        await _forward(result, text, failed, ctx)


async def _list_offers(session: Any) -> dict[str, Any]:
    """The server's lists, as an agent declares them."""
    has = session.server_capabilities
    tools = await session.list_tools() if has.tools else []
    resources = [*await session.list_resources(), *await session.list_resource_templates()] if has.resources else []
    prompts = await session.list_prompts() if has.prompts else []
    return {
        "skills": [_plain(tool) for tool in tools],
        "resources": [_plain(resource) for resource in resources],
        "prompts": [_plain(prompt) for prompt in prompts],
        "completions": has.completions is not None,
    }


async def _ask_server(session: Any, ctx: Context) -> Any:
    message, params = ctx.message, ctx.message.params
    if message.method == "resources/read":
        return await session.read_resource_mcp(str(params.get("uri")))
    if message.method == "prompts/get":
        return await session.get_prompt_mcp(str(params.get("name")), message.arguments)
    if message.method == "completion/complete":
        ref, given = params.get("ref") or {}, (params.get("context") or {}).get("arguments")
        kind = mcp.PromptReference if ref.get("type") == "ref/prompt" else mcp.ResourceTemplateReference
        return await session.complete_mcp(kind(**ref), params.get("argument") or {}, given)
    raise Fault(-32601, f"{message.method}: there is no such method")


async def _forward(result: dict[str, Any], text: str, failed: bool, ctx: Context) -> None:
    """Hand the result of a tool to the caller as the server wrote it."""
    for block in result["content"]:
        ctx.content(block)
    if isinstance(result.get("structuredContent"), dict):
        ctx.structured(result["structuredContent"])
        text = text or to_json(result["structuredContent"])
    if result.get("_meta"):
        ctx.meta(result["_meta"])
    await (ctx.fail(text) if failed else ctx.send(text))


def _handlers_of(ctx: Context) -> dict[str, Any]:
    """What the server may ask the caller, which is what the caller can be asked, and where its logs go."""

    async def log(record: Any) -> None:
        await ctx.log(record.data, record.level, record.logger or "")

    def key(kind: str) -> str:
        return ctx._turn.next_key(kind)

    async def elicit(words: str, kind: Any, params: Any, context: Any) -> Any:
        return mcp.ElicitResult(**await ctx.ask(key("elicitation"), "elicitation/create", _plain(params)))

    async def sample(messages: Any, params: Any, context: Any) -> Any:
        made = await ctx.ask(key("sampling"), "sampling/createMessage", _plain(params))
        several = isinstance(made.get("content"), list)
        return mcp.CreateMessageResultWithTools(**made) if several else mcp.CreateMessageResult(**made)

    async def roots(context: Any) -> Any:
        return [mcp.Root(**root) for root in await ctx.roots()]

    can = ctx.message.can
    handlers: dict[str, Any] = {"log_handler": log}
    if "elicitation" in can:
        handlers["elicitation_handler"] = elicit
    if "sampling" in can:
        handlers["sampling_handler"] = sample
    if "roots" in can:
        handlers["roots"] = roots
    return handlers


def _plain(made: Any) -> dict[str, Any]:
    """An object of MCP's, as it travels."""
    plain: dict[str, Any] = made.model_dump(mode="json", by_alias=True, exclude_none=True)
    plain.pop("resultType", None)
    return plain
