"""The answer to one message, in the making.

A turn collects what its handler streams and adds, makes one terminal frame of it, and keeps that
until the gateway has it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _json
from .errors import CRASHES, Busy, Ended, Fault, Refuse, describe
from .message import Message
from .steps import Record

if TYPE_CHECKING:
    from .worker import Worker

Frame = dict[str, Any]

MAX_FRAME = 1 << 20  # bytes on the wire; a gateway hangs up on what is much larger
MAX_PIECE = 128 << 10  # bytes of text that one frame carries
KEPT_WORDS = 8  # that the person said before anybody waited for them

CANCELLED = "cancelled"
EXPIRED = "expired"
STOPPING = "stopping"


class TooLarge(ValueError):
    def __init__(self) -> None:
        super().__init__(f"it is larger than {MAX_FRAME} bytes; send large things as files")


class Turn:
    def __init__(self, worker: Worker, message: Message) -> None:
        self.worker = worker
        self.message = message
        self.record = Record(message.trace, message.spans)
        self.task: asyncio.Task[None] | None = None  # its handler
        self.timer: asyncio.TimerHandle | None = None
        self.cause = ""  # why nobody wants the answer any more
        self.retries = 0  # how often the gateway could not take the answer
        self.refused = False  # the gateway will never take what the handler made
        self.terminal: bytes | None = None
        self.words: deque[Frame] = deque(maxlen=KEPT_WORDS)  # user.continue and user.auth_grant that nobody waits for
        self.pauses: list[asyncio.Future[Frame]] = []
        self.thread_waits: set[concurrent.futures.Future[Any]] = set()
        self._body: list[str] = []
        self._size = 0
        self._parts: list[Any] = []
        self._texts = ""
        self._payload: dict[str, Any] = {}
        self._asked: dict[str, int] = {}

    # What the handler says.

    async def stream_text(self, name: str, text: str) -> None:
        """Stream a piece of text or reasoning."""
        if name == "text" and self.terminal is None and self._size <= MAX_FRAME:
            self._body.append(text)
            self._size += len(text)
        for piece in _pieces(text):
            await self.stream({"type": "delta", name: piece})

    async def stream(self, frame: Frame) -> None:
        """Send a frame that may be lost, once the connection has room for it."""
        if self.terminal is not None:
            raise Ended()
        data = self.encode(frame)
        if len(data) > MAX_FRAME:
            raise TooLarge()
        link = self.worker.link
        if link is not None:
            await link.wait_for_room()
            link.send(data)

    def encode(self, frame: Frame) -> bytes:
        frame["message_id"] = self.message.id
        return _json.dumps(frame)

    def add_part(self, part: dict[str, Any]) -> Any:
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise ValueError("a part is an object with a type")
        copy = _json.loads(_json.dumps(part))  # as it is now, and certain to be JSON
        if self.terminal is None:
            self._parts.append(copy)
        return copy

    def add_text(self, text: str) -> None:
        self.add_part({"type": "text", "text": text})
        self._texts += text

    def set_payload(self, name: str, value: Any) -> None:
        self._payload[name] = _json.loads(_json.dumps(value))

    def next_key(self, kind: str) -> str:
        """The name of a question, which is the same when the message is answered again."""
        self._asked[kind] = self._asked.get(kind, 0) + 1
        return f"{kind}-{self._asked[kind]}"

    # How it ends.

    def send(self, text: str) -> None:
        """End with what was streamed, then text."""
        self.end({"type": "reply", "body": "".join(self._body) + text})

    def fail(self, text: str) -> None:
        self.end({"type": "reply", "body": text, "is_error": True, "stop_reason": "error"})

    def fault(self, fault: Fault) -> None:
        about = {"code": fault.code, "message": fault.message}
        try:
            self.set_payload("error", about if fault.data is None else {**about, "data": fault.data})
        except (TypeError, ValueError):  # its data is no JSON
            self.set_payload("error", about)
        self.end({"type": "error", "body": fault.message, "stop_reason": "error"})

    def end(self, frame: Frame) -> None:
        """Make the terminal frame, keep it until the gateway has it, and send it."""
        if self.terminal is not None:
            raise Ended()
        if frame["type"] == "reply" and not frame["body"]:
            frame["body"] = self._texts  # for callers that read nothing but the text
        if not frame["body"]:
            del frame["body"]
        if self._parts:
            frame["parts"] = self._parts
        if self._payload:
            frame["payload"] = self._payload
        told = self.record.told()
        final = self.encode({**frame, **told})
        if len(final) > MAX_FRAME and "steps" in told:  # they are worth less than the answer
            counted = self.record.counted()
            final = self.encode({**frame, "usage": counted} if counted else frame)
        if len(final) > MAX_FRAME:
            final = self._failure(
                f"the agent's answer is too large ({len(final)} bytes, the limit is {MAX_FRAME}); "
                "it should send a link to a file"
            )
        self.terminal = final
        self._body, self._parts, self._payload = [], [], {}
        self.worker.send(final)

    def finish(self, err: BaseException | None) -> None:
        """See to it that the answer ends, after the handler has."""
        log = self.worker.log
        if self.terminal is not None:
            if err is not None and not isinstance(err, asyncio.CancelledError):
                log.warning("the handler failed after its answer had ended (message %s): %s", self.message.id, err)
        elif err is None:
            self.send("")
        elif self.cause == STOPPING:
            log.info("stopping before the answer has ended; another instance may get message %s", self.message.id)
        elif self.cause == CANCELLED:
            self.end({"type": "error", "body": "the answer was cancelled", "stop_reason": "user_stop"})
        elif self.cause == EXPIRED:
            self.end({"type": "error", "body": "the answer took too long", "stop_reason": "timeout"})
        else:
            self._fail_with(err)

    def _fail_with(self, err: BaseException) -> None:
        if isinstance(err, Refuse):
            self.end({"type": "refuse", "body": str(err)})
            return
        if isinstance(err, Busy):
            self.end({"type": "busy", "body": str(err)})
            return
        where = err if isinstance(err, CRASHES) else None  # a stack, for what nobody raised on purpose
        self.worker.log.warning("the handler failed over message %s: %r", self.message.id, err, exc_info=where)
        if isinstance(err, Fault):
            self.fault(err)
        elif isinstance(err, asyncio.CancelledError):
            self.fail("the agent broke its answer off")
        else:
            self.fail(describe(err))

    def _failure(self, text: str) -> bytes:
        """A terminal frame that says why there is no answer."""
        return self.encode({"type": "reply", "body": text, "is_error": True, "stop_reason": "error"})

    # What becomes of the answer.

    def say_again(self) -> None:
        """Say again, on a new connection, what the gateway may have missed."""
        worker = self.worker
        if self.terminal is not None:
            worker.send(self.terminal)
            return
        if text := "".join(self._body):
            said = self.encode({"type": "delta", "text": text, "reason": "replay"})
            if len(said) <= MAX_FRAME:  # else it will be no answer either
                worker.send(said)
        for frame in worker.questions.lasting(self.message.id):
            worker.send(frame)

    def replace_refused(self, reason: str) -> bool:
        """Tell the caller why there is no answer, once: it must not wait for one that the gateway will
        never take."""
        again, self.refused = self.refused, True
        self.terminal = self._failure(f"the agent's answer was refused: {reason}")
        if not again:
            self.say_again()
        return not again

    def abandon(self, cause: str) -> None:
        """Tell the handler that nobody wants its answer any more."""
        self.cause = self.cause or cause
        if self.task is not None:
            self.task.cancel()
        for wait in list(self.thread_waits):
            wait.cancel()


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that frames can carry. No character is torn."""
    if len(text) * 4 <= MAX_PIECE:
        if text:
            yield text
        return
    data = text.encode(errors="surrogatepass")
    while data:
        cut = min(len(data), MAX_PIECE)
        while cut < len(data) and data[cut] & 0xC0 == 0x80:
            cut -= 1
        yield data[:cut].decode(errors="surrogatepass")
        data = data[cut:]
