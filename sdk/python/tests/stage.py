"""The gateway of a transcript, and the agent that talks to it. sdk/spec/README.md says what steps mean."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from websockets.frames import Frame, Opcode
from websockets.http11 import Request as Handshake
from websockets.server import ServerProtocol

from beeos import Agent
from beeos.signing import signed_text

SPEC = Path(__file__).parents[2] / "spec"
WITHIN = 20.0
EMPTY: tuple[Any, ...] = (None, "", 0, False, [], {})


@dataclass
class Request:
    """A request of the agent's, which waits for its answer."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    head: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    upgraded: bool = False


@dataclass
class Gate:
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)


class Stage:
    def __init__(self) -> None:
        self.gates: dict[str, Gate] = {}
        self.names: dict[str, Any] = {}
        self.now = "the opening"
        self._heard: asyncio.Queue[Request | dict[str, Any]] = asyncio.Queue()
        self._public: Ed25519PublicKey | None = None
        self._socket: tuple[ServerProtocol, asyncio.StreamWriter] | None = None
        self._serving: asyncio.Task[None] | None = None
        self.agent: Agent | None = None

    def gate(self, name: str) -> Gate:
        return self.gates.setdefault(name, Gate())

    async def play(self, script: dict[str, Any], make: Any) -> None:
        """Play the talk with the agent that make makes, then see it off."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=64 << 20)
        port = server.sockets[0].getsockname()[1]
        self.names["$gateway"] = f"http://127.0.0.1:{port}"
        with tempfile.TemporaryDirectory() as folder:
            settings = {**script.get("agent", {})}
            if timeout := settings.pop("timeout_ms", 0):
                settings["timeout"] = timeout / 1000
            place = {"gateway": self.names["$gateway"], "key": "oag_test", "identity": Path(folder) / "id.json"}
            self.agent = make(self, **settings, **place)
            self._serving = asyncio.ensure_future(self.agent.serve())
            try:
                await self._play(script)
            finally:
                self._serving.cancel()
                await asyncio.gather(self._serving, return_exceptions=True)
                server.close()

    async def _play(self, script: dict[str, Any]) -> None:
        assert self.agent and self._serving
        if script.get("opening") != "spelled out":
            await self._open()
        for number, step in enumerate(script["talk"], 1):
            self.now = f"step {number}"
            ((kind, value),) = step.items()
            await getattr(self, f"_{kind}")(value)
        self.now = "the end"
        self.agent.stop()
        if not self._serving.done():
            await self._ended(True)
        while not self._heard.empty():
            more = self._heard.get_nowait()
            assert isinstance(more, dict) and more["type"] == "drain", f"more came: {more}"

    async def _open(self) -> None:
        ok = {"success": True, "data": {"instance_id": "inst_1"}}
        join = {"method": "POST", "path": "/api/v1/agents/join", "authorization": "Bearer oag_test"}
        await self._http({**join, "body": {"name": "fixture", "public_key": "$any"}, "answer": ok})
        await self._http({"method": "POST", "path": "/api/v1/agents/sync", "body": {"agents": "$any"}, "answer": ok})
        await self._connect(True)
        await self._in({"type": "hello", "agents": {"fixture": "agent_1"}, "heartbeat_ms": 10000})

    # Steps.

    async def _in(self, frames: Any) -> None:
        frames = self._resolve(frames)
        if isinstance(frames, str):
            text = frames
        else:
            text = "\n".join(json.dumps(f) for f in (frames if isinstance(frames, list) else [frames]))
        assert self._socket
        protocol, writer = self._socket
        protocol.send_text(text.encode())
        self._flush(protocol, writer)
        await writer.drain()

    async def _out(self, want: Any) -> None:
        left = list(want) if isinstance(want, list) else [want]
        while left:
            got = await self._next()
            for one in left:
                if isinstance(got, dict) and self._matches(one, got):
                    left.remove(one)
                    break
            else:
                raise AssertionError(f"{self.now}: got {str(got)[:2000]}\nwant {str(left)[:2000]}")

    async def _http(self, want: dict[str, Any]) -> None:
        got = await self._next()
        assert isinstance(got, Request), f"{self.now}: got {got}"
        assert (got.method, got.path) == (want["method"], want["path"]), self.now
        body = want.get("body")
        if isinstance(body, str):
            assert got.body.decode() == body, self.now
        elif body is not None:
            assert self._matches(body, json.loads(got.body)), f"{self.now}: {got.body!r}\nwant {body}"
        for name, value in want.get("headers", {}).items():
            assert got.headers.get(name.lower()) == value, self.now
        self._check_credential(got, want.get("authorization"))
        answer = self._resolve(want.get("answer"))
        data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        got.writer.write(f"HTTP/1.1 {want.get('status', 200)} X\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        got.answered.set()

    async def _connect(self, _: bool) -> None:
        got = await self._next()
        assert isinstance(got, Request), f"{self.now}: got {got}"
        assert got.path == "/api/v1/agents/connect?agents=fixture", f"{self.now}: {got.path}"
        self._check_credential(got, None)
        protocol = ServerProtocol(max_size=64 << 20)
        protocol.receive_data(got.head)
        (handshake,) = protocol.events_received()
        assert isinstance(handshake, Handshake)
        protocol.send_response(protocol.accept(handshake))
        self._flush(protocol, got.writer)
        self._socket = protocol, got.writer
        got.upgraded = True
        got.answered.set()

    async def _break(self, _: bool) -> None:
        assert self._socket
        self._socket[1].transport.abort()

    async def _close(self, status: int) -> None:
        assert self._socket
        protocol, writer = self._socket
        protocol.send_close(status)
        self._flush(protocol, writer)

    async def _reached(self, name: str) -> None:
        await asyncio.wait_for(self.gate(name).reached.wait(), WITHIN)

    async def _release(self, name: str) -> None:
        self.gate(name).released.set()

    async def _stop(self, _: bool) -> None:
        assert self.agent
        self.agent.stop()

    async def _ended(self, want: Any) -> None:
        assert self._serving
        done, _ = await asyncio.wait([self._serving], timeout=WITHIN)
        assert done, f"{self.now}: it does not end"
        err = self._serving.exception()
        if isinstance(want, str):
            assert err is not None and want in str(err), f"{self.now}: it ended with {err!r}"
        elif err is not None:
            raise err

    # What the agent does.

    async def _next(self) -> Request | dict[str, Any]:
        """What the agent does next."""
        assert self._serving
        heard = asyncio.ensure_future(self._heard.get())
        done, _ = await asyncio.wait({heard, self._serving}, timeout=WITHIN, return_when=asyncio.FIRST_COMPLETED)
        if heard in done:
            return heard.result()
        heard.cancel()
        raise AssertionError(f"{self.now}: " + ("it ended instead" if done else "nothing came"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            async for request in _requests(reader, writer):
                self._heard.put_nowait(request)
                await request.answered.wait()
                if request.upgraded:
                    assert self._socket
                    await self._listen(self._socket[0], reader, writer)
                    break
                await writer.drain()
        writer.close()

    async def _listen(self, protocol: ServerProtocol, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        message = b""
        while data := await reader.read(1 << 20):
            protocol.receive_data(data)
            for event in protocol.events_received():
                assert isinstance(event, Frame)
                if event.opcode in (Opcode.TEXT, Opcode.CONT):
                    message += bytes(event.data)
                    if event.fin:
                        for line in message.splitlines():
                            self._heard.put_nowait(json.loads(line))
                        message = b""
            self._flush(protocol, writer)

    @staticmethod
    def _flush(protocol: ServerProtocol, writer: asyncio.StreamWriter) -> None:
        for data in protocol.data_to_send():
            if data:
                writer.write(data)
            else:
                writer.close()

    def _check_credential(self, got: Request, want: str | None) -> None:
        """A signature by the key that joined, or what is given."""
        sent = got.headers.get("authorization", "")
        if want is not None:
            assert sent == want, f"{self.now}: {sent}"
            with contextlib.suppress(ValueError, KeyError, TypeError):
                joined = base64.b64decode(json.loads(got.body)["public_key"])
                self._public = Ed25519PublicKey.from_public_bytes(joined)
            return
        assert self._public and sent.startswith("Ed25519 ")
        _, at, nonce, signature = sent.removeprefix("Ed25519 ").split(":")
        text = signed_text(got.method, got.path, got.body, int(at), nonce)
        self._public.verify(base64.b64decode(signature), text)

    # Values.

    def _matches(self, want: Any, got: Any) -> bool:
        """Compares as values, and notes what a name stands for."""
        before = dict(self.names)
        if self._equal(want, got, frame=True):
            return True
        self.names = before
        return False

    def _equal(self, want: Any, got: Any, frame: bool = False) -> bool:
        if isinstance(want, str) and want.startswith("$") and not want.startswith("$gateway"):
            if want != "$any":
                got = (got, self.names.setdefault(want, got))
                return bool(got[0] == got[1])
            return True
        want = self._resolve(want) if not isinstance(want, (dict, list)) or "$repeat" in want else want
        if isinstance(want, dict):
            if not isinstance(got, dict):
                return False
            if frame:
                want, got = without_empty(want), without_empty(got)
            return want.keys() == got.keys() and all(self._equal(w, got[name]) for name, w in want.items())
        if isinstance(want, list):
            return isinstance(got, list) and len(want) == len(got) and all(map(self._equal, want, got))
        return isinstance(want, bool) == isinstance(got, bool) and bool(want == got)

    def _resolve(self, value: Any) -> Any:
        """Values in the place of names, and long texts in the place of how they are written."""
        if isinstance(value, str):
            if value in self.names:
                return self.names[value]
            return value.replace("$gateway", self.names["$gateway"]) if value.startswith("$gateway") else value
        if isinstance(value, list):
            return [self._resolve(v) for v in value]
        if isinstance(value, dict):
            if "$repeat" in value:
                return value["$repeat"][0] * value["$repeat"][1]
            return {name: self._resolve(v) for name, v in value.items()}
        return value


def without_empty(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value not in EMPTY}


async def _requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[Request]:
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        yield Request(method, path, headers, body, head, reader, writer)
