"""One WebSocket to the gateway.

Whoever sends only queues; a single writer takes all that has gathered and writes it at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import quote_plus

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from .errors import Unreachable
from .gateway import USER_AGENT, Gateway, read_error

MAX_BATCH = 256 << 10  # bytes that one WebSocket message carries, unless one frame is larger
MAX_QUEUED = 1 << 20  # bytes to be written before a streaming handler is held back
MAX_READ = 32 << 20
HELLO_WITHIN = 10.0
PING_EVERY, PONG_WITHIN = 10.0, 20.0  # seconds; together three heartbeats of the gateway
SERVICE_RESTART = 1012

# How long a handler may stream before others get their turn: it may never wait for anything itself.
_SLICE = 0.002


class Link:
    def __init__(self, socket: ClientConnection) -> None:
        self.greeted = False  # by the gateway
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._queue: list[bytes] = []
        self._queued = 0  # bytes
        self._since = 0.0  # when the first of them was queued
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._writer = self._loop.create_task(self._write_queued())

    def send(self, frame: bytes) -> None:
        """Queue one frame."""
        if not self._queue:
            self._since = self._loop.time()
            self._wake.set()
        self._queue.append(frame)
        self._queued += len(frame) + 1
        if self._queued > MAX_QUEUED:
            self._room.clear()

    async def wait_for_room(self) -> None:
        """Return when there is room for more, or no point in waiting."""
        if not self._room.is_set():
            await self._room.wait()
        elif self._queue and self._loop.time() - self._since > _SLICE:
            await asyncio.sleep(0)

    async def _write_queued(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                frames, self._queue, self._queued = self._queue, [], 0
                self._room.set()
                for batch in _batches(frames):
                    await self._socket.send(batch, text=True)
        except ConnectionClosed:
            pass  # the reader reports it
        finally:
            self._room.set()

    async def frames(self) -> AsyncIterator[bytes]:
        """What the gateway sends, frame by frame, until the connection breaks."""
        while True:
            message = await self._socket.recv(decode=False)
            for line in bytes(message).split(b"\n"):
                if line and not line.isspace():
                    yield line

    async def flush(self) -> None:
        """Let the writer take what is queued."""
        while self._queue and not self._writer.done():
            await asyncio.sleep(0)

    async def close(self, reason: str = "") -> None:
        """Say goodbye, and end the writer. The reader notices."""
        await self._socket.close(1000, reason)
        self._writer.cancel()
        await asyncio.gather(self._writer, return_exceptions=True)


def _batches(frames: list[bytes]) -> list[bytes]:
    if len(frames) == 1:
        return frames
    batches: list[bytes] = []
    gathered: list[bytes] = []
    size = 0
    for frame in frames:
        if gathered and size + len(frame) >= MAX_BATCH:
            batches.append(b"\n".join(gathered))
            gathered, size = [], 0
        gathered.append(frame)
        size += len(frame) + 1
    batches.append(b"\n".join(gathered))
    return batches


async def dial(gateway: Gateway, name: str) -> Link:
    """Open the WebSocket, signed like every other request."""
    path = f"/api/v1/agents/connect?agents={quote_plus(name)}"
    try:
        socket = await connect(
            "ws" + gateway.url.removeprefix("http") + path,
            additional_headers={"Authorization": gateway.authorization("GET", path)},
            user_agent_header=USER_AGENT,
            compression=None,
            open_timeout=HELLO_WITHIN,
            ping_interval=PING_EVERY,
            ping_timeout=PONG_WITHIN,
            close_timeout=1.0,
            max_size=MAX_READ,
        )
    except InvalidStatus as err:
        answer = err.response
        refusal = read_error(answer.status_code, bytes(answer.body or b""))
        if refusal.code == "agent_not_found":
            gateway.synced = False  # deactivated since; declared again at the next try
        raise gateway.refused(refusal) from err
    except (OSError, InvalidHandshake, InvalidURI, asyncio.TimeoutError, EOFError) as err:
        raise Unreachable(f"connect: {err or type(err).__name__}") from err
    gateway.accepted()
    return Link(socket)


def said_goodbye(err: BaseException) -> bool:
    """Whether the gateway has announced that it restarts."""
    return isinstance(err, ConnectionClosed) and err.rcvd is not None and err.rcvd.code == SERVICE_RESTART


