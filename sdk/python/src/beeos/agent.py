"""The agent, as its author sees it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Literal, TypeVar, overload

from . import _json
from .context import Context
from .errors import Refuse, SetupError
from .functions import Function
from .offers import Chat, Completion, Prompt, Resource, Tool, present
from .settings import find_settings
from .trace import current_trace
from .worker import Worker

F = TypeVar("F", bound=Callable[..., Any])

# Handlers that are not async run in threads, which may wait for people: there are more than processors.
MAX_THREADS = 128


class Agent:
    """An agent: a name, handlers, and a connection to the gateway while it runs.

    Only the name is needed; it is unique among its owner's agents. Where it serves and what it joins
    with is found in the environment, or on the machine of ``beeos dev`` by itself.

    Args:
        name: Unique among its owner's agents.
        delivery_mode: ``push``: all messages at once (the default); ``queue``: one at a time per lane,
            the rest wait; ``busy_reject``: one at a time, others are told to come back. It cannot
            change once the agent is declared.
        lane: What ``queue`` takes one at a time: each ``session`` (the default) or the whole ``agent``.
        redelivery: What becomes of work when this process dies: ``always``, ``before_start``,
            ``never``. Empty: another instance gets it, unless its caller gave an idempotency key.
        timeout: Seconds that a caller waits; the gateway's default when 0.
        concurrency: Handlers at once; 0 = no limit.
        gateway: AGENT_GATEWAY_URL, or that of ``beeos dev``, when empty.
        key: A user key (oag_) to join with; BEEOS_KEY when empty.
        join_token: A one-time token to join with; BEEOS_JOIN_TOKEN when empty.
        identity: The file of the key pair; one per agent in the user's configuration folder when
            empty. Processes with the same file are instances of one agent and share its work.
        on_connect: Called with the agent's id each time it is connected.
        on_restart: Called when the owner asks for a restart. Without it, the agent connects and
            declares itself anew.
    """

    def __init__(
        self,
        name: str,
        *,
        display_name: str = "",
        description: str = "",
        version: str = "",
        model: str = "",
        instructions: str = "",
        capabilities: dict[str, Any] | None = None,
        delivery_mode: Literal["", "push", "queue", "busy_reject"] = "",
        lane: Literal["", "session", "agent"] = "",
        redelivery: Literal["", "always", "before_start", "never"] = "",
        timeout: float = 0,
        concurrency: int = 0,
        gateway: str = "",
        key: str = "",
        join_token: str = "",
        identity: str | os.PathLike[str] | None = None,
        on_connect: Callable[[str], None] | None = None,
        on_restart: Callable[[], None] | None = None,
    ) -> None:
        if not name:
            raise ValueError("the agent has no name; give it one")
        self.name = name
        self.concurrency = concurrency
        self.on_connect = on_connect
        self.on_restart = on_restart
        self._about = present(
            name=name,
            displayName=display_name,
            description=description,
            version=version,
            model=model,
            instructions=instructions,
            capabilities=capabilities,
            delivery_mode=delivery_mode,
            lane=lane,
            redelivery=redelivery,
            timeout_ms=int(timeout * 1000) or None,
        )
        self._place: dict[str, Any] = {"gateway": gateway, "key": key, "token": join_token, "identity": identity}
        self._tools: dict[str, Tool] = {}
        self._resources: list[Resource] = []
        self._prompts: dict[str, Prompt] = {}
        self._completion: Completion | None = None
        self._chat: Chat | None = None
        self._worker: Worker | None = None

    @property
    def id(self) -> str:
        """The gateway's id of this agent; empty until it first connected."""
        return self._worker.agent_id if self._worker else ""

    # What it can do.

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self,
        *,
        name: str = "",
        title: str = "",
        description: str = "",
        schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        annotations: dict[str, Any] | None = None,
        execution: dict[str, Any] | None = None,
        tags: list[str] | None = None,
        meta: dict[str, Any] | None = None,
        hidden: bool = False,
    ) -> Callable[[F], F]: ...
    def tool(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str = "",
        title: str = "",
        description: str = "",
        schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        annotations: dict[str, Any] | None = None,
        execution: dict[str, Any] | None = None,
        tags: list[str] | None = None,
        meta: dict[str, Any] | None = None,
        hidden: bool = False,
    ) -> Any:
        """Make a function a tool.

        Its schema comes from the type hints, its description and those of the parameters from the
        docstring. ``hidden``: listed as a skill, not offered as a tool.
        """
        hints = present(readOnlyHint=read_only, destructiveHint=destructive, **(annotations or {}))

        def add(function: F) -> F:
            tool = Tool(
                Function(function),
                name,
                schema,
                hidden,
                title=title,
                description=description,
                outputSchema=output_schema,
                annotations=hints,
                execution=execution,
                tags=tags,
                _meta=meta,
            )
            if tool.name in self._tools:
                raise ValueError(f"agent {self.name}: two tools are called {tool.name!r}; give one another name")
            self._tools[tool.name] = tool
            return function

        return add if function is None else add(function)

    def remove_tool(self, name: str) -> None:
        """Offer a tool no more. While the agent serves, ``redeclare`` tells the gateway."""
        self._tools.pop(name, None)

    def remove_prompt(self, name: str) -> None:
        """Offer a prompt no more. While the agent serves, ``redeclare`` tells the gateway."""
        self._prompts.pop(name, None)

    def message(self, function: F) -> F:
        """Make a function answer whoever talks to the agent.

        It gets the text, or the Message if its parameter is annotated so, and may ask for a context.
        What it yields is streamed.
        """
        self._chat = Chat(Function(function))
        return function

    def resource(
        self, uri: str, *, name: str = "", title: str = "", description: str = "", mime_type: str = ""
    ) -> Callable[[F], F]:
        """Make a function answer reads of a resource. The values of a template such as
        ``note://{name}`` are its arguments; ``uri`` is the whole address."""

        def add(function: F) -> F:
            about = {"name": name, "title": title, "description": description, "mimeType": mime_type}
            self._resources.append(Resource(uri, Function(function), **about))
            return function

        return add

    def add_resource(
        self,
        uri: str,
        content: str | bytes,
        *,
        name: str = "",
        title: str = "",
        description: str = "",
        mime_type: str = "",
    ) -> None:
        """Offer a document that does not change."""
        about = {"name": name, "title": title, "description": description, "mimeType": mime_type}
        if isinstance(content, bytes):
            about["blob"] = base64.b64encode(content).decode()
        else:
            about["text"] = content
        self._resources.append(Resource(uri, None, **about))

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, *, name: str = "", title: str = "", description: str = "") -> Callable[[F], F]: ...
    def prompt(
        self, function: Callable[..., Any] | None = None, *, name: str = "", title: str = "", description: str = ""
    ) -> Any:
        """Make a function a prompt. It returns the text of a message of the user's, or a list of
        messages."""

        def add(function: F) -> F:
            prompt = Prompt(Function(function), name, title=title, description=description)
            self._prompts[prompt.name] = prompt
            return function

        return add if function is None else add(function)

    def complete(self, function: F) -> F:
        """Make a function suggest values for arguments of prompts and resource templates.

        It returns a list of strings, and may have parameters named ``argument`` (the argument's
        name), ``value`` (what was typed so far), ``ref`` (the prompt, or the template) and ``given``
        (the other arguments).
        """
        self._completion = Completion(Function(function))
        return function

    def definition(self) -> dict[str, Any]:
        """What the agent says about itself to the gateway."""
        return {
            **self._about,
            **present(
                completions=self._completion is not None or None,
                skills=[t.declared() for t in self._tools.values()],
                resources=[r.declared() for r in self._resources],
                prompts=[p.declared() for p in self._prompts.values()],
            ),
        }

    # Answering.

    async def answer(self, ctx: Context) -> None:
        """Answer one message."""
        if ctx.message.trace:
            current_trace.set(ctx.message.trace)
        handler = self._handler_of(ctx) or self._chat
        if handler is not None:
            await handler.answer(ctx)
        elif ctx.message.tool:
            raise ValueError(f'this agent has no tool "{ctx.message.tool}"')
        elif not await self._answer_by_tool(ctx):
            raise Refuse("this agent does not chat; call one of its tools")

    async def _answer_by_tool(self, ctx: Context) -> bool:
        """REST and A2A have no tools: there, an agent that is one tool is that tool."""
        if ctx.message.method or len(self._tools) != 1:
            return False
        (tool,) = self._tools.values()
        return await tool.answer_chat(ctx)

    def _handler_of(self, ctx: Context) -> Tool | Resource | Prompt | Completion | None:
        message = ctx.message
        if message.method == "tools/call":
            return self._tools.get(message.tool)
        if message.method == "resources/read":
            uri = str(message.params.get("uri") or "")
            return next((r for r in self._resources if r.matches(uri)), None)
        if message.method == "prompts/get":
            return self._prompts.get(str(message.params.get("name") or ""))
        if message.method == "completion/complete":
            return self._completion
        return None

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """Where handlers run that are not async."""
        return ThreadPoolExecutor(self.concurrency or MAX_THREADS, thread_name_prefix=f"beeos-{self.name}")

    # Serving.

    def run(self) -> None:
        """Serve until the process is told to stop by SIGINT or SIGTERM, then finish what is running."""
        run(self)

    async def serve(self) -> None:
        """Serve until ``stop`` is called or the task is cancelled, then finish what is running.

        Raises SetupError for what trying again cannot mend: no way to join, or a definition that the
        gateway refuses.
        """
        if self._worker is not None:
            raise RuntimeError(f"agent {self.name} is serving already")
        try:
            settings = find_settings(self.name, **self._place)
            self._worker = Worker(self, settings)
        except OSError as err:
            raise SetupError(f"agent {self.name}: {err}") from err
        try:
            await self._worker.serve()
        finally:
            self._worker = None

    def stop(self) -> None:
        """Finish what is begun, then let ``serve`` return. Call it in the thread of the event loop."""
        if self._worker is not None:
            self._worker.stop()

    async def redeclare(self) -> None:
        """Tell the gateway what the agent offers now, after tools, resources or prompts were added
        while it serves. Connected clients are told."""
        if self._worker is not None:
            await self._worker.gateway.declare(self.definition())

    def resource_updated(self, uri: str) -> None:
        """Tell subscribed clients that the resource has changed."""
        if self._worker is not None:
            self._worker.send(_json.dumps({"type": "resource_updated", "agent_id": self.id, "uri": uri}))

    def connected(self, agent_id: str) -> None:
        if self.on_connect is not None:
            self.on_connect(agent_id)


def run(*agents: Agent) -> None:
    """Serve agents until the process is told to stop by SIGINT or SIGTERM."""
    if not logging.getLogger().handlers:  # a program of five lines wants to see something as well
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve_all(agents))
    else:
        uvloop.run(_serve_all(agents))


async def _serve_all(agents: tuple[Agent, ...]) -> None:
    serving = [asyncio.ensure_future(agent.serve()) for agent in agents]
    asked = False

    def stop() -> None:
        nonlocal asked
        if asked:  # again, by somebody who does not want to wait
            for one in serving:
                one.cancel()
        asked = True
        for agent in agents:
            agent.stop()

    try:
        with _signals(stop):
            await asyncio.gather(*serving)
    finally:  # one that cannot serve ends all
        for one in serving:
            one.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call stop when the process is told to stop."""
    loop = asyncio.get_running_loop()
    watched = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # Windows; or not the main thread
            loop.add_signal_handler(number, stop)
            watched.append(number)
    try:
        yield
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
