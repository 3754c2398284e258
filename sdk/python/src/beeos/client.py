"""A client of the REST surface: call agents, follow tasks and conversations, send files."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from . import _json
from ._http import Pool, Response
from ._version import __version__
from .errors import Error, Unreachable
from .files import Content, open_content
from .message import StoredMessage
from .models import (
    AgentInfo,
    Answer,
    Approval,
    Conversation,
    Delivery,
    File,
    Record,
    StreamEvent,
    Task,
    ToolResult,
    Update,
    Webhook,
)
from .settings import dev_path, read_dev
from .signing import new_id
from .trace import current_trace

R = TypeVar("R", bound=Record)

PAGE = 100
RETURN_FIRST, RETURN_LAST = 0.1, 5.0  # seconds before a stream that broke off is picked up again
_PASSING = {"agent_service_unavailable", "rate_limited"}

Attached = Sequence[File | Mapping[str, str]]


class Client:
    """Calls agents, with a user key (oag_) or an agent's own (bak_).

    On the machine of ``beeos dev`` neither argument is needed; elsewhere BEEOS_URL and BEEOS_KEY are
    used. An agent is named by its id, its slug or its name.

        async with Client() as client:
            answer = await client.call("weather", "How is it in Rome?")

    ``retries`` is how often a call is made again that may not have arrived. Such calls carry an
    idempotency key, so that they are not done twice.
    """

    def __init__(self, url: str = "", key: str = "", *, retries: int = 0) -> None:
        dev = read_dev(dev_path())
        local = _base_of(str(dev.get("rest") or ""))
        self.url = _base_of(url or os.environ.get("BEEOS_URL", "")) or local or "http://localhost:8095"
        self.retries = retries
        self._key = key or os.environ.get("BEEOS_KEY", "")
        if not self._key and self.url == local:  # dev's key is for dev's server; no other may see it
            self._key = str(dev.get("user_key") or "")
        self._http = Pool(f"beeos-python/{__version__}")
        self._ids: dict[str, str] = {}  # by what agents were called

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections; ``async with`` does it by itself."""
        self._http.close()

    # Agents.

    async def agents(self) -> list[AgentInfo]:
        """Every agent that the key's user owns."""
        found: list[AgentInfo] = []
        while True:
            page = await self._envelope("GET", f"/api/v1/agents?limit={PAGE}&offset={len(found)}")
            agents = [AgentInfo.parse(a) for a in page.get("data") or []]
            found += agents
            if not agents or len(found) >= page.get("total", 0):
                return found

    async def agent(self, name: str) -> AgentInfo:
        """The agent that is called so: an id, a slug, a name, or what people call it."""
        agents = await self.agents()
        for known in ("id", "slug", "name", "display_name"):
            for agent in agents:
                if getattr(agent, known) == name:
                    return agent
        try:  # somebody else's agent can only be named by its id
            return AgentInfo.parse(await self._call("GET", _path("agents", name)))
        except Error as err:
            if err.code == "agent_not_found":
                raise Error(err.code, f'no agent is called "{name}"') from err
            raise

    async def _id(self, name: str) -> str:
        if name not in self._ids:
            self._ids[name] = (await self.agent(name)).id if not name.startswith("agent_") else name
        return self._ids[name]

    # Calls.

    async def call(
        self,
        agent: str,
        message: str,
        *,
        context_id: str = "",
        timeout: float = 0,
        idempotency_key: str = "",
        metadata: Mapping[str, str] | None = None,
        attachments: Attached = (),
    ) -> Answer:
        """Ask an agent and wait for the whole answer. context_id goes on with an earlier one."""
        body = self._request(message, context_id, idempotency_key, metadata, attachments, timeout_ms=timeout * 1000)
        return Answer.parse(await self._call("POST", _path("agents", await self._id(agent), "invoke"), body))

    async def stream(
        self,
        agent: str,
        message: str,
        *,
        context_id: str = "",
        timeout: float = 0,
        idempotency_key: str = "",
        metadata: Mapping[str, str] | None = None,
        attachments: Attached = (),
    ) -> AsyncIterator[StreamEvent]:
        """Ask an agent and yield its answer as it comes; the last event has the whole."""
        body = self._request(message, context_id, idempotency_key, metadata, attachments, timeout_ms=timeout * 1000)
        path = _path("agents", await self._id(agent), "invoke")
        answer = await self._send("POST", path, body, accept="text/event-stream")
        with contextlib.closing(answer):
            async for _, data in _events(answer):
                kind = data.get("type")
                if kind == "delta":
                    yield StreamEvent(delta=str(data.get("text", "")))
                elif kind == "reasoning":
                    yield StreamEvent(reasoning=str(data.get("text", "")))
                elif kind == "error":
                    raise Error(str(data.get("code", "")), str(data.get("message", "")))
                elif kind == "done":
                    yield StreamEvent(done=Answer.parse(data))
                    return
        raise Unreachable("the stream ended before the answer was complete")

    async def call_tool(self, agent: str, tool: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call one tool of an agent, which checks the arguments against the tool's schema."""
        found = await self.agent(agent)
        if not found.mcp_url:
            raise Error("not_found", f'the server names no MCP endpoint for agent "{agent}"')
        params = {"name": tool, "arguments": arguments or {}}
        body = _json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {**self._headers("application/json"), "Content-Type": "application/json"}
        answer = await self._http.request("POST", found.mcp_url, headers, body, timeout=None)
        said = _parse(await answer.read())
        if error := said.get("error"):
            raise _error_of(error)
        if not isinstance(said.get("result"), dict):
            raise Unreachable("the MCP endpoint answered with neither result nor error")
        return ToolResult.parse(said["result"])

    # Tasks.

    async def create_task(
        self,
        agent: str,
        message: str,
        *,
        context_id: str = "",
        deadline: float = 0,
        idempotency_key: str = "",
        metadata: Mapping[str, str] | None = None,
        attachments: Attached = (),
    ) -> Task:
        """Give an agent work to come back for; returns as soon as it is stored. deadline is in seconds."""
        body = self._request(message, context_id, idempotency_key, metadata, attachments, deadline_ms=deadline * 1000)
        return await self._get(Task, "POST", _path("agents", await self._id(agent), "tasks"), body)

    async def task(self, agent: str, task_id: str) -> Task:
        """A task as it is now."""
        return await self._get(Task, "GET", await self._task_path(agent, task_id))

    async def tasks(self, *, agent: str = "", state: str = "") -> AsyncIterator[Task]:
        """The tasks of the key's user, newest first; state is active, closed or all."""
        query = {"limit": str(PAGE)}
        if agent:
            query["agent_id"] = await self._id(agent)
        if state:
            query["state"] = state
        async for found in self._pages("/api/v1/tasks", query, "tasks"):
            yield Task.parse(found)

    async def watch_task(self, agent: str, task_id: str) -> AsyncIterator[Update]:
        """The messages of a task from the beginning to its terminal reply, and the pieces of that as
        they come. When the connection breaks, it is picked up again."""
        async for update in self._follow(await self._task_path(agent, task_id, "events"), 0):
            yield update

    async def wait_for_task(self, agent: str, task_id: str) -> Task:
        """Wait until a task has ended."""
        async for _ in self.watch_task(agent, task_id):
            pass
        return await self.task(agent, task_id)

    async def cancel_task(self, agent: str, task_id: str, reason: str = "") -> Task:
        """End a task. The agent may have finished it first."""
        return await self._get(Task, "POST", await self._task_path(agent, task_id, "cancel"), {"reason": reason})

    async def continue_task(self, agent: str, task_id: str, input: Any) -> Task:
        """Give an agent that paused what it asked for: text, or anything that JSON can carry."""
        return await self._get(Task, "POST", await self._task_path(agent, task_id, "continue"), {"input": input})

    async def grant_task(self, agent: str, task_id: str, granted: bool = True) -> Task:
        """Consent to what an agent asked consent for, or deny it."""
        body = {"auth_grant": granted}
        return await self._get(Task, "POST", await self._task_path(agent, task_id, "continue"), body)

    async def _task_path(self, agent: str, task_id: str, *rest: str) -> str:
        return _path("agents", await self._id(agent), "tasks", task_id, *rest)

    # Conversations.

    async def create_conversation(self, agent: str, title: str = "") -> Conversation:
        """Start a conversation."""
        path = _path("agents", await self._id(agent), "conversations")
        return await self._get(Conversation, "POST", path, {"title": title})

    async def conversations(self, agent: str) -> AsyncIterator[Conversation]:
        """The conversations with an agent, newest first."""
        path = _path("agents", await self._id(agent), "conversations")
        async for found in self._pages(path, {"limit": str(PAGE)}, "conversations"):
            yield Conversation.parse(found)

    async def say(self, agent: str, conversation_id: str, message: str, *, attachments: Attached = ()) -> str:
        """Send a message in a conversation and return its id; the reply comes in the events."""
        body = self._request(message, "", new_id(), None, attachments)
        sent = await self._call("POST", await self._conversation_path(agent, conversation_id, "messages"), body)
        return str(sent["message_id"])

    async def messages(self, agent: str, conversation_id: str) -> AsyncIterator[StoredMessage]:
        """What was said in a conversation so far, the oldest first."""
        path = await self._conversation_path(agent, conversation_id, "messages")
        async for found in self._pages(path, {"limit": str(PAGE), "since": "0"}, "messages"):
            yield StoredMessage.parse(found)

    async def watch_conversation(self, agent: str, conversation_id: str, since: int = 0) -> AsyncIterator[Update]:
        """What is said in a conversation after the offset since, then what comes, until it is closed."""
        async for update in self._follow(await self._conversation_path(agent, conversation_id, "events"), since):
            yield update

    async def delete_conversation(self, agent: str, conversation_id: str) -> None:
        """Forget a conversation and what was said in it."""
        await self._call("DELETE", await self._conversation_path(agent, conversation_id))

    async def _conversation_path(self, agent: str, conversation_id: str, *rest: str) -> str:
        return _path("agents", await self._id(agent), "conversations", conversation_id, *rest)

    # Files.

    async def upload(self, filename: str, content: Content, content_type: str = "application/octet-stream") -> File:
        """Send a file to the server, which keeps it for a while: bytes, text, a path or an open file."""
        about = {"filename": filename, "content_type": content_type}
        link = await self._call("POST", "/api/v1/files/presign-upload", about)
        opened, size = open_content(content)
        try:
            answer = await self._http.request(
                "PUT", link["upload_url"], {"Content-Type": content_type}, opened, size=size, timeout=None
            )
        finally:
            if opened is not content:
                opened.close()
        return File.parse(self._read(answer, await answer.read()).get("data"))

    async def file(self, file_id: str) -> File:
        """A file of one's own; it has no size until it is uploaded."""
        return await self._get(File, "GET", _path("files", file_id))

    async def download(self, file_id: str) -> bytes:
        """The content of a file of one's own."""
        file = await self.file(file_id)
        if not file.download_url:
            raise Error("not_found", "the file has not been uploaded yet")
        answer = await self._http.request("GET", file.download_url, again=True)
        content = await answer.read(most=max(file.size, 1 << 20))
        if answer.status != 200:
            raise self._refusal(answer, content)
        return content

    # Webhooks.

    async def add_webhook(self, agent: str, task_id: str, url: str, *, token: str = "", secret: str = "") -> Webhook:
        """Let a receiver be told how a task goes; the same URL again replaces token and secret."""
        body = {"url": url, "token": token, "secret": secret}
        body = {name: value for name, value in body.items() if value}
        return await self._get(Webhook, "POST", await self._task_path(agent, task_id, "webhooks"), body)

    async def webhooks(self, agent: str, task_id: str) -> list[Webhook]:
        """The webhooks of a task."""
        found = await self._call("GET", await self._task_path(agent, task_id, "webhooks"))
        return [Webhook.parse(w) for w in found.get("webhooks") or []]

    async def remove_webhook(self, agent: str, task_id: str, webhook_id: str) -> None:
        """End a webhook and everything that is still to be sent to it."""
        await self._call("DELETE", await self._task_path(agent, task_id, "webhooks", webhook_id))

    async def deliveries(self, agent: str, task_id: str, webhook_id: str, limit: int = 20) -> list[Delivery]:
        """What a webhook was told, newest first."""
        path = await self._task_path(agent, task_id, "webhooks", webhook_id, "deliveries")
        found = await self._call("GET", f"{path}?limit={limit}")
        return [Delivery.parse(d) for d in found.get("deliveries") or []]

    async def redeliver(self, agent: str, task_id: str, webhook_id: str, delivery_id: str) -> Delivery:
        """Send a delivery once more, signed afresh."""
        path = await self._task_path(agent, task_id, "webhooks", webhook_id, "deliveries", delivery_id, "redeliver")
        return await self._get(Delivery, "POST", path)

    # Approvals.

    async def approvals(self, status: str = "pending") -> list[Approval]:
        """The tool calls of the user's agents that wait for a person; status is pending, decided or all."""
        found = await self._call("GET", f"/api/v1/approvals?limit=200&{urlencode({'status': status})}")
        return [Approval.parse(a) for a in found or []]

    async def approve(self, approval_id: str) -> Approval:
        """Let the tool call be made, with the arguments that it was asked for."""
        return await self._get(Approval, "POST", _path("approvals", approval_id, "approve"), {})

    async def reject(self, approval_id: str, reason: str = "") -> Approval:
        """Deny the tool call; the agent is told the reason."""
        return await self._get(Approval, "POST", _path("approvals", approval_id, "reject"), {"reason": reason})

    # How requests are made.

    def _request(
        self,
        message: str,
        context_id: str,
        idempotency_key: str,
        metadata: Mapping[str, str] | None,
        attachments: Attached,
        **times: float,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"message": message}
        if context_id:
            body["context_id"] = context_id
        if idempotency_key or self.retries:
            body["idempotency_key"] = idempotency_key or new_id()
        if metadata:
            body["metadata"] = metadata
        if attachments:
            body["attachments"] = [{"file_id": a.file_id} if isinstance(a, File) else a for a in attachments]
        body.update({name: int(value) for name, value in times.items() if value})
        return body

    async def _get(self, record: type[R], method: str, path: str, body: Any = None) -> R:
        return record.parse(await self._call(method, path, body))

    async def _call(self, method: str, path: str, body: Any = None) -> Any:
        return (await self._envelope(method, path, body)).get("data")

    async def _envelope(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = await self._send(method, path, body)
        return self._read(answer, await answer.read())

    async def _send(self, method: str, path: str, body: Any = None, accept: str = "application/json") -> Response:
        """Send a request, and again if it may not have arrived and does no harm twice."""
        data = b"" if body is None else _json.dumps(body)
        headers = self._headers(accept)
        if body is not None:
            headers["Content-Type"] = "application/json"
        harmless = method != "POST" or isinstance(body, dict) and "idempotency_key" in body
        pause = RETURN_FIRST
        for left in range(self.retries if harmless else 0, -1, -1):
            try:
                answer = await self._http.request(method, self.url + path, headers, data, again=harmless, timeout=None)
                if answer.status < 300:
                    return answer
                raise self._refusal(answer, await answer.read(1 << 20))
            except (Unreachable, Error) as err:
                if not left or isinstance(err, Error) and err.code not in _PASSING:
                    raise
                await asyncio.sleep(getattr(err, "retry_after", None) or pause)
                pause = min(2 * pause, RETURN_LAST)
        raise AssertionError("the last try returns or raises")

    def _headers(self, accept: str) -> dict[str, str]:
        headers = {"Accept": accept, **current_trace.get().headers}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _read(self, answer: Response, body: bytes) -> dict[str, Any]:
        if answer.status >= 300:
            raise self._refusal(answer, body)
        return _parse(body) if body else {}

    def _refusal(self, answer: Response, body: bytes) -> Exception:
        try:
            err = _error_of(_parse(body)["error"])
        except (Unreachable, KeyError, TypeError):
            text = f"{self.url} answered HTTP {answer.status}, which is not how the REST surface of BeeOS answers"
            return Unreachable(text + "; check the URL")
        wait = answer.headers.get("retry-after", "")
        err.retry_after = float(wait) if wait.isdecimal() else None
        return err

    async def _pages(self, path: str, query: dict[str, str], member: str) -> AsyncIterator[Any]:
        while True:
            page = await self._call("GET", f"{path}?{urlencode(query)}")
            for item in page.get(member) or []:
                yield item
            if not page.get("next_since"):
                return
            query = {**query, "since": str(page["next_since"])}

    async def _follow(self, path: str, since: int) -> AsyncIterator[Update]:
        """Read an event stream to its end, over as many connections as it takes."""
        pause = RETURN_FIRST
        while True:
            try:
                answer = await self._send("GET", f"{path}?since={since}", accept="text/event-stream")
                with contextlib.closing(answer):
                    async for name, data in _events(answer):
                        if name == "end":
                            if data.get("reason") == "stream_closed":
                                break
                            return
                        if name == "message":
                            update = _update_of(data)
                            if update.message.offset > since:
                                since, pause = update.message.offset, RETURN_FIRST
                            yield update
            except Unreachable:
                pass
            except Error as err:
                if err.code not in _PASSING:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETURN_LAST)


def _base_of(url: str) -> str:
    return url.rstrip("/").removesuffix("/api/v1")


def _path(*parts: str) -> str:
    return "/api/v1/" + "/".join(quote(p, safe="") for p in parts)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        found = _json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Unreachable("the server does not answer like the REST surface of BeeOS; check the URL")
    return found


def _error_of(error: Any) -> Error:
    """An error of the REST surface or of a JSON-RPC endpoint, in the words that all surfaces share."""
    code = error["code"]
    if isinstance(code, int):
        words = {-32601: "not_found", -32602: "invalid_param"}
        data = error.get("data")
        code = (data.get("code") if isinstance(data, dict) else None) or words.get(code, "internal_error")
    return Error(str(code), str(error.get("message", "")))


def _update_of(data: dict[str, Any]) -> Update:
    message = StoredMessage.parse(data)
    delta = message.type == "agent_reply_delta"
    return Update(message, delta, delta and bool(message.payload.get("so_far")))


async def _events(answer: Response) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The events of a stream: each with its name, which may be empty, and an object."""
    name = ""
    async for line in answer.lines():
        if not line:
            name = ""
        elif line.startswith(b"event:"):
            name = line[6:].strip().decode(errors="replace")
        elif line.startswith(b"data:") and line[5:].lstrip().startswith(b"{"):
            yield name, _parse(line[5:].strip())
