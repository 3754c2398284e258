"""The HTTP side of the agent gateway: join, declare, history, files."""

from __future__ import annotations

import asyncio
import base64
import logging
from typing import Any, BinaryIO
from urllib.parse import quote

from . import _json
from ._http import MAX_ANSWER, Pool
from ._version import __version__
from .errors import Error, SetupError, Unreachable
from .files import Attachment
from .identity import Identity
from .message import StoredMessage
from .settings import Settings
from .signing import authorization

USER_AGENT = f"beeos-python/{__version__}"

# What trying again cannot mend.
_REFUSALS = {"invalid_body", "invalid_param", "invalid_json", "missing_param", "conflict", "payload_too_large"}
_PASSING = {"internal_error", "agent_service_unavailable", "rate_limited"}
_UNKNOWN = {"invalid_token", "unauthorized"}


class Gateway:
    def __init__(self, settings: Settings, log: logging.LoggerAdapter[logging.Logger]) -> None:
        self.url = settings.gateway
        self.synced = False
        self._settings = settings
        self._log = log
        self._identity = Identity.open(settings.identity)
        self._http = Pool(USER_AGENT)
        self._known = False  # a signature of ours was accepted at least once
        self._untried = False  # this process joined, and no signature was accepted since

    @property
    def seed(self) -> bytes:
        """Of the agent's key: its instances have it, and nobody else."""
        return self._identity.key.seed

    def close(self) -> None:
        self._http.close()

    async def ensure_declared(self, definition: dict[str, Any]) -> None:
        """Join and declare the agent if the gateway does not know it yet."""
        if not self._identity.instance(self.url):
            await self._join(definition["name"])
        if not self.synced:
            await self.declare(definition)

    async def declare(self, definition: dict[str, Any]) -> None:
        try:
            await self._send_signed("POST", "/api/v1/agents/sync", {"agents": [definition]})
        except Error as err:
            if err.code in _REFUSALS:
                raise SetupError(f"declare the agent: {err}") from err
            raise
        self.synced = True

    async def _join(self, name: str) -> None:
        """Register this process's public key with a credential of its owner."""
        try:
            credential = self._settings.credential()
        except SetupError as err:
            if self._known:  # it may come back: the gateway was here before
                raise Unreachable(str(err)) from err
            raise
        body = _json.dumps(
            {
                "token": credential.token,
                "name": name,
                "public_key": base64.b64encode(self._identity.key.public).decode(),
            }
        )
        headers = {"Authorization": f"Bearer {credential.key}"} if credential.key else {}
        try:
            joined = await self._exchange("POST", "/api/v1/agents/join", headers, body)
        except Error as err:
            text = f"join {self.url} with {credential.source}: {err}"
            if err.code in _PASSING or credential.local or self._known:
                raise Error(err.code, text) from err
            raise SetupError(text) from err
        instance = str(joined["instance_id"])
        self._log.info("joined %s as %s with %s", self.url, instance, credential.source)
        self._untried, self.synced = True, False
        self._identity.joined(self.url, instance)

    async def read_history(self, channel: str, since: int = 0) -> list[StoredMessage]:
        """What was said on a channel of this agent's after an offset, oldest first."""
        found: list[StoredMessage] = []
        while True:
            path = f"/api/v1/agents/channels/{quote(channel, safe='')}/messages?since={since}"
            page = await self._send_signed("GET", path)
            messages = [StoredMessage.parse(m) for m in page.get("messages") or []]
            found += messages
            if not page.get("has_more") or not messages:
                return found
            since = messages[-1].offset

    async def upload(self, message: str, name: str, content_type: str, content: BinaryIO, size: int) -> Attachment:
        """Send a file for the caller of a message."""
        about = {"message_id": message, "filename": name, "content_type": content_type}
        link = await self._send_signed("POST", "/api/v1/agents/files", about)
        answer = await self._http.request(
            "PUT", link["upload_url"], {"Content-Type": content_type}, content, size=size, timeout=None
        )
        text = await answer.read()
        if answer.status >= 400:
            raise read_error(answer.status, text)
        stored = _json.loads(text).get("data") or {}
        if not stored.get("file_id"):
            raise Error("internal_error", "the server does not say that it has the file")
        return Attachment.parse({**stored, "url": link["download_url"]})

    def authorization(self, method: str, path: str, body: bytes = b"") -> str:
        return authorization(self._identity.key, self._identity.instance(self.url), method, path, body)

    def accepted(self) -> None:
        """Note that the gateway knows this identity."""
        self._known, self._untried = True, False

    def refused(self, err: Error) -> Exception:
        """Note a refused request, and return the error that says what that means.

        An identity that the gateway has forgotten (its data was wiped) joins again at the next try.
        """
        if err.code not in _UNKNOWN:
            return err
        if self._untried:
            return SetupError(
                f"the gateway took this agent in but refuses its signature; is this machine's clock right? {err}"
            )
        self._identity.forget(self.url)
        self.synced = False
        return Error(err.code, f"the gateway does not know this identity, which will join again: {err.message}")

    async def _send_signed(self, method: str, path: str, value: Any = None) -> Any:
        body = b"" if value is None else _json.dumps(value)
        headers = {"Authorization": self.authorization(method, path, body)}
        try:
            data = await self._exchange(method, path, headers, body)
        except Error as err:
            raise self.refused(err) from err
        self.accepted()
        return data

    async def _exchange(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        headers = {**headers, "Content-Type": "application/json"}
        answer = await self._http.request(method, self.url + path, headers, body)
        text = await asyncio.wait_for(answer.read(MAX_ANSWER), 30)
        if answer.status >= 400:
            raise read_error(answer.status, text)
        try:
            return _json.loads(text).get("data")
        except (ValueError, AttributeError) as err:
            raise Unreachable(f"{self.url} does not answer like a gateway") from err


def read_error(status: int, body: bytes) -> Error:
    """The error that an answer describes."""
    try:
        described = _json.loads(body)["error"]
        return Error(str(described["code"]), str(described["message"]))
    except (ValueError, KeyError, TypeError):
        text = body[:200].decode(errors="replace")
        return Error("internal_error", f"the server answered HTTP {status}: {text}")
