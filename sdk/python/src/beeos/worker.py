"""What serves an agent: it keeps a connection up, hands messages to handlers and brings their answers.

Whatever breaks, it comes back; an answer that the gateway has not acknowledged is sent again.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from websockets.exceptions import ConnectionClosed

from . import _json
from .context import Context
from .errors import Error, SetupError, Unreachable
from .gateway import Gateway
from .link import Link, dial, said_goodbye
from .message import Message
from .questions import Questions, say_words
from .settings import Settings
from .turn import CANCELLED, EXPIRED, STOPPING, Frame, Turn

if TYPE_CHECKING:
    from .agent import Agent

DRAIN_FOR = 10.0  # seconds that running handlers may take to finish at shutdown
MIN_PAUSE, MAX_PAUSE = 0.2, 15.0
REMEMBERED = 512  # answered turns
MAX_DEADLINE = 30 * 24 * 3600.0  # seconds; what lies beyond is as good as never


class Worker:
    def __init__(self, agent: Agent, settings: Settings) -> None:
        self.agent = agent
        self.log = logging.LoggerAdapter(logging.getLogger("beeos"), {"agent": agent.name})
        self.loop = asyncio.get_running_loop()
        self.gateway = Gateway(settings, self.log)
        self.questions = Questions(self)
        self.link: Link | None = None  # None while disconnected
        self.agent_id = ""
        self._turns: dict[str, Turn] = {}
        self._answered: OrderedDict[str, None] = OrderedDict()  # turns whose answer the gateway has
        self._waiting: deque[Turn] = deque()  # received, over the concurrency limit
        self._active = 0
        self._running: dict[asyncio.Task[None], Turn] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._draining = False
        self._stop = asyncio.Event()
        self._settled = asyncio.Event()  # draining, and no turn is left
        self._acts = {
            "chat_message": self._begin,
            "chat_cancel": self._cancel,
            "working": self._say_again,
            "user.continue": self._continue,
            "user.auth_grant": self._continue,
            "answer": self.questions.answer,
            "decision": self.questions.answer,
            "ack": self._acknowledged,
            "error": self._on_error,
        }

    # Serving.

    def stop(self) -> None:
        """Finish what is begun, then end."""
        self._stop.set()

    async def serve(self) -> None:
        """Serve until stop is called or the task is cancelled; both let running handlers finish."""
        connecting = self.loop.create_task(self._connect_forever())
        stopping = self.loop.create_task(self._stop.wait())
        try:
            try:
                await asyncio.wait({connecting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not connecting.done():
                    await self._drain(connecting)
        finally:
            stopping.cancel()
            connecting.cancel()
            await asyncio.gather(connecting, stopping, return_exceptions=True)
            await self._end_handlers()
            self.gateway.close()
        if not connecting.cancelled() and (err := connecting.exception()):
            raise err

    async def _drain(self, connecting: asyncio.Task[None]) -> None:
        """Ask for no more work, then wait for the answers in hand."""
        self._draining = True
        for turn in self._waiting:
            self._turns.pop(turn.message.id, None)  # never begun: the gateway gives it to another instance
        self._waiting.clear()
        self._settle()
        self.send(_json.dumps({"type": "drain"}))
        settled = self.loop.create_task(self._settled.wait())
        await asyncio.wait({settled, connecting}, timeout=DRAIN_FOR, return_when=asyncio.FIRST_COMPLETED)
        if not settled.done():
            settled.cancel()
            self.log.warning("stopping with unfinished answers after %.0f s", DRAIN_FOR)
        elif self.link is not None:
            await self.link.flush()

    def _settle(self) -> None:
        if self._draining and not self._turns:
            self._settled.set()

    async def _end_handlers(self) -> None:
        for turn in self._turns.values():
            if turn.timer:
                turn.timer.cancel()
        for turn in self._running.values():
            turn.abandon(STOPPING)
        await asyncio.gather(*self._running, *self._closing, return_exceptions=True)
        await asyncio.sleep(0)  # for what is called when they are done

    async def _connect_forever(self) -> None:
        """Keep a connection up until trying again is pointless."""
        pause = MIN_PAUSE
        while True:
            greeted, err = await self._connect_once()
            if isinstance(err, SetupError):
                raise SetupError(f"agent {self.agent.name}: {err}") from err
            if greeted:
                pause = MIN_PAUSE
            wait = pause / 2 + random.random() * pause
            level = logging.INFO if said_goodbye(err) else logging.WARNING
            self.log.log(level, "not connected to %s; trying again in %.1f s: %s", self.gateway.url, wait, err)
            await asyncio.sleep(wait)
            pause = min(2 * pause, MAX_PAUSE)

    async def _connect_once(self) -> tuple[bool, Exception]:
        """Join and declare where that is needed, connect, and serve the connection until it breaks."""
        link: Link | None = None
        try:
            await self.gateway.ensure_declared(self.agent.definition())
            link = await dial(self.gateway, self.agent.name)
            async for line in link.frames():
                self._receive(link, line)
            raise AssertionError("frames only ends by an error")
        except (Error, SetupError, Unreachable, ConnectionClosed, OSError, asyncio.TimeoutError) as err:
            return link is not None and link.greeted, err
        finally:
            if link is not None:
                if self.link is link:
                    self.link = None
                    self.questions.drop()
                await link.close("bye")

    def send(self, frame: bytes) -> None:
        """Queue a frame, if there is a connection."""
        if self.link is not None:
            self.link.send(frame)

    # What the gateway says. None of this waits for anything.

    def _receive(self, link: Link, line: bytes) -> None:
        try:
            frame = _json.loads(line)
            kind = frame["type"]
        except (ValueError, KeyError, TypeError):
            self.log.warning("a frame from the gateway cannot be read")
            return
        if kind == "hello":
            self._greeted(link, frame)
        elif kind == "restart":
            self._restart(link)
        elif act := self._acts.get(kind):
            act(frame)

    def _greeted(self, link: Link, frame: Frame) -> None:
        """Make this the current connection, and bring what an earlier one could not."""
        known = str((frame.get("agents") or {}).get(self.agent.name) or "")
        self.agent_id = known or self.agent_id
        self.link = link
        if link.greeted:  # again: what this connection serves has changed
            if not known:
                self.log.warning("this agent was deactivated; it gets no messages until it is declared again")
            return
        link.greeted = True
        if self._draining:
            link.send(_json.dumps({"type": "drain"}))
        for turn in list(self._turns.values()):
            if turn.terminal is not None:
                link.send(turn.terminal)
        for turn in self._turns.values():
            if turn.terminal is None:
                link.send(turn.encode({"type": "working"}))
        if not known:  # declared by somebody else since, or deactivated
            self.gateway.synced = False
            self._hang_up(link, "not declared")
            return
        self.log.info("connected to %s as %s", self.gateway.url, known)
        self.agent.connected(known)

    def _restart(self, link: Link) -> None:
        """Do what the owner asks for. Answers in the making go on, and are brought over the new connection."""
        self.log.info("the owner asks for a restart")
        if self.agent.on_restart is not None:
            self.agent.on_restart()
            return
        self.gateway.synced = False
        self._hang_up(link, "restarting")

    def _hang_up(self, link: Link, reason: str) -> None:
        closing = self.loop.create_task(link.close(reason))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _begin(self, frame: Frame) -> None:
        """Start the handler of a message, or let it wait for its turn.

        A message that this process is answering already comes again when the gateway lost the
        connection in between: the work goes on, only its words are said again.
        """
        try:
            message = Message.parse(frame)
        except (ValueError, TypeError, AttributeError) as err:
            self.log.warning("a message cannot be read: %s", err)
            text = f"the agent could not read the message: {err}"
            self.send(_json.dumps({"type": "error", "message_id": frame.get("message_id"), "body": text}))
            return
        if turn := self._turns.get(message.id):
            turn.say_again()
            return
        if message.id in self._answered:  # handed out again before the answer was known everywhere
            self.send(_json.dumps({"type": "reply", "message_id": message.id}))  # refused, and the matter is closed
            return
        if self._draining:
            return  # the gateway gives it to another instance when this one is gone
        turn = self._turns[message.id] = Turn(self, message)
        if message.deadline is not None:
            left = message.deadline.timestamp() - time.time()
            if left <= 0:
                turn.abandon(EXPIRED)
            else:
                turn.timer = self.loop.call_later(min(left, MAX_DEADLINE), turn.abandon, EXPIRED)
        if self.agent.concurrency and self._active >= self.agent.concurrency:
            self._waiting.append(turn)
            return
        self._active += 1
        self._start(turn)

    def _start(self, turn: Turn) -> None:
        """Run the handler, unless nobody wants its answer any more."""
        if turn.cause:
            self.loop.call_soon(self._finish, turn, asyncio.CancelledError())
            return
        turn.task = self.loop.create_task(self.agent.answer(Context(turn)))
        self._running[turn.task] = turn
        turn.task.add_done_callback(self._handled)

    def _handled(self, task: asyncio.Task[None]) -> None:
        turn = self._running.pop(task)
        self._finish(turn, asyncio.CancelledError() if task.cancelled() else task.exception())

    def _finish(self, turn: Turn, err: BaseException | None) -> None:
        """End the answer, and begin the one that waits behind it."""
        if turn.timer:
            turn.timer.cancel()
        try:
            turn.finish(err)
        except Exception:
            self.log.exception("the answer to message %s could not be ended", turn.message.id)
        if self._waiting:
            self._start(self._waiting.popleft())
        else:
            self._active -= 1

    def _cancel(self, frame: Frame) -> None:
        if turn := self._turns.get(frame.get("message_id", "")):
            turn.abandon(CANCELLED)

    def _say_again(self, frame: Frame) -> None:
        if turn := self._turns.get(frame.get("message_id", "")):
            turn.say_again()

    def _continue(self, frame: Frame) -> None:
        if turn := self._turns.get(frame.get("message_id", "")):
            say_words(turn, frame)

    def _on_error(self, frame: Frame) -> None:
        if error := frame.get("error"):
            self.questions.answer(frame)  # if it is about a question, that has failed
            self.log.warning("the gateway could not use a frame: %s: %s", error.get("code"), error.get("message"))

    def _acknowledged(self, frame: Frame) -> None:
        """Forget an answer that the gateway has, and try another time with one that it could not take."""
        turn = self._turns.get(frame.get("message_id", ""))
        if turn is None:
            return
        error = frame.get("error") or {}
        code = error.get("code")
        if code == "agent_service_unavailable":
            self._retry_later(turn)
            return
        if code and code != "message_terminal":
            reason = error.get("message")
            self.log.error("the gateway refused the answer to message %s: %s: %s", turn.message.id, code, reason)
            if turn.replace_refused(str(reason or "")):
                return
        else:
            self._answered[turn.message.id] = None
            if len(self._answered) > REMEMBERED:
                self._answered.popitem(last=False)
        del self._turns[turn.message.id]
        self._settle()

    def _retry_later(self, turn: Turn) -> None:
        """Send the answer again after a pause that grows to ten seconds."""
        pause = min(0.2 * 2 ** min(turn.retries, 6), 10.0)
        turn.retries += 1

        def again() -> None:
            if self._turns.get(turn.message.id) is turn:
                turn.say_again()

        self.loop.call_later(pause / 2 + random.random() * pause / 2, again)
