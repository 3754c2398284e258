"""A small HTTP client on asyncio: what the standard library has would need a thread per request.

Connections are kept and used again. Redirects are not followed, since a key or a signature would go
where they point. Proxies of the environment are used.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from typing import BinaryIO, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from .errors import Unreachable

CONNECT_WITHIN = 10.0
MAX_ANSWER = 16 << 20  # bytes, so that a wrong address cannot fill the memory
CHUNK = 64 << 10
_MAX_HEADERS = 200
_BROKEN = (OSError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError, ValueError)


class Target(NamedTuple):
    """Whom a connection leads to."""

    secure: bool
    host: str
    port: int


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, via_proxy: bool) -> None:
        self.reader = reader
        self.writer = writer
        self.via_proxy = via_proxy  # and the proxy reads the requests
        self.used = False

    @property
    def alive(self) -> bool:
        return not self.reader.at_eof() and not self.writer.is_closing()

    def close(self) -> None:
        self.writer.close()


class Response:
    """An answer whose body is still to be read. Read it to the end or close it."""

    def __init__(self, pool: Pool, target: Target, connection: Connection, status: int, headers: dict[str, str]) -> None:
        self.status = status
        self.headers = headers  # names in lower case
        self._pool = pool
        self._target = target
        self._connection = connection
        self._over = False

    async def read(self, most: int = MAX_ANSWER) -> bytes:
        """The whole body."""
        pieces: list[bytes] = []
        size = 0
        try:
            async for piece in self.chunks():
                size += len(piece)
                if size > most:
                    raise Unreachable(f"the answer has more than {most} bytes")
                pieces.append(piece)
        finally:
            self.close()
        return b"".join(pieces)

    async def lines(self) -> AsyncIterator[bytes]:
        """The body line by line, without the line breaks."""
        rest = b""
        async for piece in self.chunks():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line.rstrip(b"\r")
            if len(rest) > MAX_ANSWER:
                raise Unreachable(f"a line of the answer has more than {MAX_ANSWER} bytes")
        if rest:
            yield rest

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        reader = self._connection.reader
        try:
            if "chunked" in self.headers.get("transfer-encoding", "").lower():
                while size := int((await reader.readuntil(b"\n")).split(b";")[0], 16):
                    async for piece in _read_exactly(reader, size):
                        yield piece
                    await reader.readuntil(b"\n")
                while (await reader.readuntil(b"\n")).strip():
                    pass  # trailers
            elif "content-length" in self.headers:
                async for piece in _read_exactly(reader, int(self.headers["content-length"])):
                    yield piece
            elif self.status != 204:
                while piece := await reader.read(CHUNK):
                    yield piece
                return  # only the end of the connection ends it
        except _BROKEN as err:
            raise Unreachable(f"the answer broke off: {_reason(err)}") from err
        self._over = True
        if self.headers.get("connection", "").lower() != "close":
            self._pool.keep(self._target, self._connection)
        else:
            self._connection.close()

    def close(self) -> None:
        """Give the connection up, unless the whole body was read."""
        if not self._over:
            self._over = True
            self._connection.close()


async def _read_exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    while size > 0:
        piece = await reader.read(min(size, CHUNK))
        if not piece:
            raise EOFError("the connection was closed")
        size -= len(piece)
        yield piece


class Pool:
    """Connections to whom they lead, and requests over them."""

    def __init__(self, user_agent: str) -> None:
        self._user_agent = user_agent
        self._idle: dict[Target, list[Connection]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tls: ssl.SSLContext | None = None

    def close(self) -> None:
        """Close the connections that nobody uses."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()

    def keep(self, target: Target, connection: Connection) -> None:
        connection.used = True
        if connection.alive:
            self._idle.setdefault(target, []).append(connection)

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | BinaryIO = b"",
        *,
        size: int | None = None,
        again: bool = False,
        timeout: float | None = 30.0,
    ) -> Response:
        """Send a request and return its answer once the headers are there.

        ``size`` is that of a body that is a file. ``again``: it does no harm to send it twice, for a
        connection that the server has closed just then.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the connections of another loop are of no use here
            self._idle, self._loop = {}, loop
        parts = urlsplit(url)
        target = _target_of(parts)
        size = len(body) if isinstance(body, bytes) else size
        sent = {"Host": parts.netloc.rpartition("@")[2], "User-Agent": self._user_agent, **(headers or {})}
        if size or method not in ("GET", "DELETE"):
            sent["Content-Length"] = str(size or 0)
        try:
            connection = await self._connect(target)
            try:
                return await asyncio.wait_for(self._exchange(connection, target, method, parts, sent, body), timeout)
            except _BROKEN:
                connection.close()
                if not (connection.used and again and isinstance(body, bytes)):
                    raise
            connection = await self._connect(target, fresh=True)
            try:
                return await asyncio.wait_for(self._exchange(connection, target, method, parts, sent, body), timeout)
            except BaseException:
                connection.close()
                raise
        except _BROKEN as err:
            raise Unreachable(f"{parts.scheme}://{sent['Host']} cannot be reached: {_reason(err)}") from err

    async def _exchange(
        self,
        connection: Connection,
        target: Target,
        method: str,
        parts: SplitResult,
        headers: dict[str, str],
        body: bytes | BinaryIO,
    ) -> Response:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if connection.via_proxy:
            path = f"{parts.scheme}://{headers['Host']}{path}"
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        try:
            await self._write(connection.writer, head.encode("latin-1") + b"\r\n", body)
            status, answered = await _read_head(connection.reader)
        except asyncio.CancelledError:
            connection.close()
            raise
        return Response(self, target, connection, status, answered)

    @staticmethod
    async def _write(writer: asyncio.StreamWriter, head: bytes, body: bytes | BinaryIO) -> None:
        if isinstance(body, bytes):
            writer.write(head + body)
        else:
            writer.write(head)
            while piece := body.read(CHUNK):
                writer.write(piece)
                await writer.drain()
        await writer.drain()

    async def _connect(self, target: Target, fresh: bool = False) -> Connection:
        idle = self._idle.get(target, [])
        while idle and not fresh:
            connection = idle.pop()
            if connection.alive:
                return connection
            connection.close()
        return await asyncio.wait_for(self._dial(target), CONNECT_WITHIN)

    async def _dial(self, target: Target) -> Connection:
        tls = self._tls_context() if target.secure else None
        proxy = _proxy_for(target)
        if proxy is None:
            reader, writer = await asyncio.open_connection(target.host, target.port, ssl=tls)
        elif tls is None:
            reader, writer = await asyncio.open_connection(proxy.hostname, proxy.port or 80)
        else:
            tunnel = await _open_tunnel(proxy, target)
            reader, writer = await asyncio.open_connection(sock=tunnel, ssl=tls, server_hostname=target.host)
        return Connection(reader, writer, via_proxy=proxy is not None and tls is None)

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def _target_of(parts: SplitResult) -> Target:
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unreachable("the address is not an http:// or https:// one")  # it may be a permission: not shown
    secure = parts.scheme == "https"
    return Target(secure, parts.hostname, parts.port or (443 if secure else 80))


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    while True:
        first = (await reader.readuntil(b"\n")).split(None, 2)
        if len(first) < 2 or not first[0].startswith(b"HTTP/1."):
            raise ValueError("it does not speak HTTP/1.1")
        headers: dict[str, str] = {}
        for _ in range(_MAX_HEADERS):
            line = (await reader.readuntil(b"\n")).strip()
            if not line:
                break
            name, _, value = line.partition(b":")
            headers[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
        else:
            raise ValueError("its answer has too many headers")
        if int(first[1]) >= 200:  # before that come answers that only say to go on
            return int(first[1]), headers


def _proxy_for(target: Target) -> SplitResult | None:
    scheme = "https" if target.secure else "http"
    address = urllib.request.getproxies().get(scheme)
    if not address or urllib.request.proxy_bypass(f"{target.host}:{target.port}"):
        return None
    proxy = urlsplit(address if "://" in address else f"http://{address}")
    return proxy if proxy.hostname else None


async def _open_tunnel(proxy: SplitResult, target: Target) -> socket.socket:
    """A socket that leads through the proxy to the target."""
    loop = asyncio.get_running_loop()
    host = proxy.hostname or ""
    found = await loop.getaddrinfo(host, proxy.port or 80, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = found[0]
    tunnel = socket.socket(family, kind, protocol)
    tunnel.setblocking(False)
    try:
        await loop.sock_connect(tunnel, address)
        ask = f"CONNECT {target.host}:{target.port} HTTP/1.1\r\nHost: {target.host}:{target.port}\r\n"
        if proxy.username:
            who = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
            ask += f"Proxy-Authorization: Basic {base64.b64encode(who.encode()).decode()}\r\n"
        await loop.sock_sendall(tunnel, ask.encode() + b"\r\n")
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = await loop.sock_recv(tunnel, 1)  # not one byte of what comes after it
            if not piece or len(answer) > CHUNK:
                raise OSError("the proxy hung up")
            answer += piece
        if answer.split(None, 2)[1] != b"200":
            raise OSError(f"the proxy refused: {answer.splitlines()[0].decode('latin-1')}")
    except BaseException:
        tunnel.close()
        raise
    return tunnel


def _reason(err: BaseException) -> str:
    if isinstance(err, (asyncio.TimeoutError, TimeoutError)):
        return "it does not answer in time"
    if isinstance(err, EOFError):
        return "it closed the connection"
    return str(err) or type(err).__name__
