"""The context of handlers that are not async. They run in threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from .context import Context, StepKind
from .errors import Cancelled
from .message import Message
from .steps import Step
from .trace import Trace
from .turn import CANCELLED, EXPIRED
from .waiting import forbid_loop, waits

if TYPE_CHECKING:
    from .agent import Agent

T = TypeVar("T")

_REASONS = {CANCELLED: "the caller cancelled", EXPIRED: "the deadline has passed"}


class SyncContext:
    """Context for handlers that are not async: the same methods, without await.

    When nobody wants the answer any more, each of those that talk to others raises Cancelled.
    """

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._async = context
        self._loop = loop

    @property
    def message(self) -> Message:
        return self._async.message

    @property
    def agent(self) -> Agent:
        return self._async.agent

    @property
    def trace(self) -> Trace:
        return self._async.trace

    @property
    def cancelled(self) -> bool:
        """Whether nobody wants the answer any more. Look at it in a loop that says nothing."""
        return bool(self._async._turn.cause)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        turn = self._async._turn
        try:
            forbid_loop()
            self._check()
        except BaseException:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        turn.thread_waits.add(future)
        try:
            if turn.cause:  # since we looked
                future.cancel()
            return future.result()
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            self._check()
            raise Cancelled("what was waited for was cancelled") from None
        finally:
            turn.thread_waits.discard(future)

    def _check(self) -> None:
        if cause := self._async._turn.cause:
            raise Cancelled(_REASONS.get(cause, "the agent is stopping"))

    delta = waits(Context.delta)
    reasoning = waits(Context.reasoning)
    progress = waits(Context.progress)
    log = waits(Context.log)
    background = waits(Context.background)
    part = waits(Context.part)
    attach = waits(Context.attach)
    elicit = waits(Context.elicit)
    sample = waits(Context.sample)
    roots = waits(Context.roots)
    ask = waits(Context.ask)
    ask_all = waits(Context.ask_all)
    call = waits(Context.call)
    approve = waits(Context.approve)
    input_required = waits(Context.input_required)
    auth_required = waits(Context.auth_required)
    history = waits(Context.history)
    send = waits(Context.send)
    correct = waits(Context.correct)
    fail = waits(Context.fail)
    refuse = waits(Context.refuse)
    busy = waits(Context.busy)
    fault = waits(Context.fault)
    need_input = waits(Context.need_input)

    # What only adds to the answer waits for nothing.

    def text(self, text: str) -> None:
        self._async.text(text)

    def image(self, data: bytes, mime_type: str) -> None:
        self._async.image(data, mime_type)

    def audio(self, data: bytes, mime_type: str) -> None:
        self._async.audio(data, mime_type)

    def resource(self, uri: str, content: str | bytes, mime_type: str = "") -> None:
        self._async.resource(uri, content, mime_type)

    def link(self, uri: str, name: str, mime_type: str = "") -> None:
        self._async.link(uri, name, mime_type)

    def structured(self, value: Any) -> None:
        self._async.structured(value)

    def content(self, part: dict[str, Any]) -> None:
        self._async.content(part)

    def result(self, value: Any) -> None:
        self._async.result(value)

    def meta(self, value: Any) -> None:
        self._async.meta(value)

    def remember(self, value: Any) -> None:
        self._async.remember(value)

    def direct(self) -> None:
        self._async.direct()

    def step(self, name: str, kind: StepKind = "") -> Step:
        return self._async.step(name, kind)

    def usage(self, model: str, input_tokens: int, output_tokens: int, cost_usd: float = 0) -> None:
        self._async.usage(model, input_tokens, output_tokens, cost_usd)

    def download(self, number: int = 0) -> bytes:
        """The content of one of the message's attachments."""
        return self._wait(self.message.attachments[number].download())
