"""What a handler can say and ask while it answers."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .errors import CannotAsk, Denied, Ended, Fault, QuestionFailed
from .files import Attachment, Content, open_content
from .message import Message, StoredMessage
from .signing import new_id
from .steps import Step, current_step
from .trace import Trace, current_trace
from .turn import Frame, Turn

if TYPE_CHECKING:
    from .agent import Agent

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
StepKind = Literal["", "tool", "model", "retrieval", "other"]

_CAPABILITIES = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}

# Between two tries to ask the owner while the server cannot store the question.
ASK_AGAIN_FIRST, ASK_AGAIN_LAST = 1.0, 15.0


@dataclass(frozen=True)
class Elicitation:
    """A person's answer to Context.elicit."""

    action: str  # accept, decline or cancel
    content: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        return self.action == "accept"


@dataclass(frozen=True)
class Continued:
    """What the person said after Context.input_required or Context.auth_required."""

    text: str
    payload: Any = None
    parts: list[Any] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """A request to the caller in the words of its protocol: elicitation/create, sampling/createMessage
    or roots/list."""

    method: str
    params: Any = None

    def as_json(self) -> dict[str, Any]:
        return {"method": self.method} if self.params is None else {"method": self.method, "params": self.params}


class Context:
    """The answer to one message, in the making.

    What talks to others is awaited. A handler that returns without having ended the answer ends it
    with what it has streamed, added and returned.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    @property
    def message(self) -> Message:
        """What the caller asks."""
        return self._turn.message

    @property
    def agent(self) -> Agent:
        """The agent that answers."""
        return self._turn.worker.agent

    @property
    def trace(self) -> Trace:
        """The place in a distributed trace of what is being done; its headers go to servers that the
        agent asks."""
        return current_trace.get()

    # Streaming.

    async def delta(self, text: str) -> None:
        """Stream a piece of the answer's text."""
        await self._turn.stream_text("text", text)

    async def reasoning(self, text: str) -> None:
        """Stream a piece of what the agent thinks. It is not part of the answer."""
        await self._turn.stream_text("reasoning", text)

    async def progress(self, done: float, total: float = 0, message: str = "") -> None:
        """Tell watching callers how far the work is; total 0 = unknown."""
        await self._turn.stream({"type": "progress", "progress": done, "total": total, "text": message})

    async def log(self, data: Any, level: LogLevel = "info", logger: str = "") -> None:
        """Send a log record to a watching caller; data is anything that JSON can carry."""
        await self._turn.stream({"type": "log", "level": level, "logger": logger, "data": data})

    async def background(self) -> None:
        """Say that the answer takes longer than the caller should hold the line.

        A caller that knows tasks gets one and comes back for the answer. The handler goes on.
        """
        await self._turn.stream({"type": "background"})

    async def part(self, part: dict[str, Any]) -> None:
        """Add a part of any type, an object with a ``type``. Watching callers see it at once."""
        await self._turn.stream({"type": "delta", "part": self._turn.add_part(part)})

    # Adding to the answer.

    def text(self, text: str) -> None:
        """Add a block of text after the answer's own text."""
        self._turn.add_text(text)

    def image(self, data: bytes, mime_type: str) -> None:
        """Add a picture."""
        self._turn.add_part({"type": "image", "data": base64.b64encode(data).decode(), "mimeType": mime_type})

    def audio(self, data: bytes, mime_type: str) -> None:
        """Add a sound."""
        self._turn.add_part({"type": "audio", "data": base64.b64encode(data).decode(), "mimeType": mime_type})

    def resource(self, uri: str, content: str | bytes, mime_type: str = "") -> None:
        """Add a document."""
        about: dict[str, Any] = {"uri": uri}
        if mime_type:
            about["mimeType"] = mime_type
        if isinstance(content, bytes):
            about["blob"] = base64.b64encode(content).decode()
        else:
            about["text"] = content
        self._turn.add_part({"type": "resource", "resource": about})

    def link(self, uri: str, name: str, mime_type: str = "") -> None:
        """Add the address of something that the client can read."""
        about = {"type": "resource_link", "uri": uri, "name": name}
        self._turn.add_part({**about, "mimeType": mime_type} if mime_type else about)

    def structured(self, value: Any) -> None:
        """Add a value that fits the tool's output schema."""
        self._turn.add_part({"type": "structured", "data": value})

    def content(self, part: dict[str, Any]) -> None:
        """Add a part as it is. Unlike ``part`` it comes with the answer and not before."""
        self._turn.add_part(part)

    def result(self, value: Any) -> None:
        """Answer a method with the whole result object that the caller's protocol defines for it."""
        self._turn.set_payload("result", value)

    def meta(self, value: Any) -> None:
        """Add an object that travels as _meta beside the answer."""
        self._turn.set_payload("_meta", value)

    def remember(self, value: Any) -> None:
        """Keep a value with the answer, which is not part of what it says.

        The history has it, as ``memory`` of the reply, for whichever instance answers the next message
        of the conversation. It is no secret.
        """
        self._turn.set_payload("memory", value)

    def direct(self) -> None:
        """Say that the answer is a message and no task to come back to; A2A knows the difference."""
        self._turn.set_payload("direct", True)

    async def attach(self, name: str, content: Content, content_type: str = "application/octet-stream") -> Attachment:
        """Add a file: bytes, text, a path or an open file. The caller gets a link to it."""
        if self._turn.terminal is not None:
            raise Ended()
        opened, size = open_content(content)
        try:
            stored = await self._turn.worker.gateway.upload(self.message.id, name, content_type, opened, size)
        finally:
            if opened is not content:
                opened.close()
        part = {"type": "file", "url": stored.url, "mime_type": stored.content_type, "name": stored.filename}
        await self.part({**part, "size": stored.size, "file_id": stored.file_id})
        return stored

    # Steps.

    def step(self, name: str, kind: StepKind = "") -> Step:
        """Begin a step; use it with ``with``.

        The first 200 of an answer are kept, up to 64 KiB.

            with ctx.step("search", "tool") as step:
                found = await search(query)
                step.set("found", len(found))
        """
        return self._turn.record.begin(name, kind, current_step())

    def usage(self, model: str, input_tokens: int, output_tokens: int, cost_usd: float = 0) -> None:
        """Say what the answer took of a model, for agents that tell no steps; it adds up.

        What is said here counts instead of the tokens of steps. Without cost_usd the server's price
        list says what it cost.
        """
        self._turn.record.usage.add(model, input_tokens, output_tokens, cost_usd)

    # Asking.

    async def elicit(self, message: str, schema: Mapping[str, Any]) -> Elicitation:
        """Ask the person behind the caller for values that fit the JSON schema, and wait."""
        params = {"message": message, "requestedSchema": schema}
        answer = await self._ask("elicitation/create", params)
        return Elicitation(str(answer.get("action", "")), answer.get("content") or {})

    async def sample(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the caller's model; params and result are those of MCP's sampling/createMessage."""
        return await self._ask("sampling/createMessage", params)

    async def roots(self) -> list[dict[str, Any]]:
        """Ask which folders the caller works in: objects with ``uri`` and ``name``."""
        answer = await self._ask("roots/list", None)
        return list(answer.get("roots") or [])

    async def ask(self, key: str, method: str, params: Any = None) -> Any:
        """Put one question and wait.

        A caller that starts over after a question, as MCP's newest clients do, answers by key: it
        should be the same every time.
        """
        return (await self.ask_all({key: Question(method, params)}))[key]

    async def ask_all(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Put several questions at once and return the answers by the same keys."""
        asking = [
            asyncio.ensure_future(self._ask(q.method, q.params, key, len(questions))) for key, q in questions.items()
        ]
        try:
            return dict(zip(questions, await asyncio.gather(*asking)))
        finally:
            for one in asking:
                one.cancel()

    async def _ask(self, method: str, params: Any, key: str = "", together: int = 0) -> dict[str, Any]:
        capability = _CAPABILITIES.get(method)
        if capability is None:
            raise ValueError(f"{method}: there is no such question")
        if capability not in self.message.can:
            raise CannotAsk(method, capability)
        return await self._request(method, params, key or self._turn.next_key(capability), together)

    async def _request(self, method: str, params: Any, key: str, together: int = 0) -> dict[str, Any]:
        frame: Frame = {"type": "request", "request_id": new_id(), "key": key, "method": method}
        if params is not None:
            frame["params"] = params
        if together:
            frame["total"] = together
        if trace := current_trace.get():
            frame["traceparent"] = trace.parent
        answer = await self._turn.worker.questions.pose(self._turn, method, frame, lasting=False)
        result = answer.get("result") or {}
        if not isinstance(result, dict):
            raise QuestionFailed(f"{method}: the answer is something else")
        return result

    async def call(
        self,
        agent: str,
        message: str = "",
        *,
        tool: str = "",
        arguments: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> str:
        """Ask another agent, by its id or by the name that it has with the same owner.

        With ``tool`` one of its tools is called with these arguments, instead of a message; of one that
        answers with a value and no text, the value is returned as JSON. An answer that the other agent
        calls a failure is an error. Calls are made once: when this message is given to another instance,
        the calls that it makes in the same order get the answers of the first ones. ``key`` names a call
        among those of its message, for calls that are made at once and so have no sure order.
        """
        params = {"agent": agent, "message": message, "tool": tool, "arguments": arguments}
        wanted = {name: value for name, value in params.items() if value not in ("", None)}
        try:
            answer = await self._request("agents/call", wanted, key or self._turn.next_key("call"))
        except QuestionFailed as err:
            raise QuestionFailed(f"call {agent}: {err}", err.code) from err
        text = str(answer.get("text", ""))
        if answer.get("is_error"):
            raise QuestionFailed(f"agent {agent} failed: {text}")
        return text

    async def approve(
        self, tool: str, arguments: Any = None, *, skill: str = "", auto: bool = False, key: str = ""
    ) -> None:
        """Ask the owner whether the tool may be called with these arguments, and wait.

        Returns when the owner, or a rule of theirs, says yes: once, and for exactly these arguments.
        Raises Denied otherwise. The question outlives this process. ``auto``: go ahead unless the
        owner wants to be asked. ``key`` names this one call within its message, for agents that know
        after a restart which calls they have made.
        """
        frame: Frame = {"type": "approve", "request_id": key or new_id(), "tool": tool}
        frame["arguments"] = {} if arguments is None else arguments
        if skill:
            frame["skill"] = skill
        if auto:
            frame["auto"] = True
        made = (await self._pose_approval(f"approve {tool}", frame)).get("result") or {}
        if not made.get("approved"):
            raise Denied(tool, str(made.get("reason") or ""), bool(made.get("expired")))

    async def _pose_approval(self, what: str, frame: Frame) -> Frame:
        """Ask until the question is stored: a server that has lost its database for a moment has not
        denied anything. Under one id it is one question."""
        pause = ASK_AGAIN_FIRST
        while True:
            try:
                return await self._turn.worker.questions.pose(self._turn, what, frame, lasting=True)
            except QuestionFailed as err:
                if err.code != "agent_service_unavailable":
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, ASK_AGAIN_LAST)

    async def input_required(self, text: str, payload: Any = None) -> Continued:
        """Pause the answer until the person says more. The pause outlives a lost connection."""
        return await self._pause("input_required", text, payload)

    async def auth_required(self, text: str, payload: Any = None) -> Continued:
        """Pause the answer until the person has granted access."""
        return await self._pause("auth_required", text, payload)

    async def _pause(self, kind: str, text: str, payload: Any) -> Continued:
        frame: Frame = {"type": kind, "request_id": new_id(), "body": text}
        if payload is not None:
            frame["payload"] = payload
        said = await self._turn.worker.questions.pose(self._turn, kind, frame, lasting=True, pause=True)
        answered = said.get("payload")
        files = answered.get("attachments") or [] if isinstance(answered, dict) else []
        return Continued(
            str(said.get("body") or ""), answered, said.get("parts") or [], [Attachment.parse(f) for f in files]
        )

    async def history(self, since: int = 0) -> list[StoredMessage]:
        """The conversation that the message belongs to, oldest first; with ``since``, what is after that offset."""
        try:
            return await self._turn.worker.gateway.read_history(self.message.channel, since)
        except Exception as err:
            raise QuestionFailed(f"read the history: {err}", getattr(err, "code", "")) from err

    # Ending the answer before the handler returns.

    async def send(self, text: str = "") -> None:
        """End the answer: its text is what was streamed, then text."""
        self._turn.send(text)

    async def correct(self, text: str) -> None:
        """End the answer with text, whatever was streamed before."""
        self._turn.end({"type": "reply", "body": text})

    async def fail(self, text: str) -> None:
        """End the answer as a failure of the agent's."""
        self._turn.fail(text)

    async def refuse(self, reason: str) -> None:
        """End the answer by declining to give one."""
        self._turn.end({"type": "refuse", "body": reason})

    async def busy(self, reason: str) -> None:
        """End the answer by asking the caller to come back later."""
        self._turn.end({"type": "busy", "body": reason})

    async def fault(self, code: int, message: str, data: Any = None) -> None:
        """End the answer with an error of the caller's protocol."""
        self._turn.fault(Fault(code, message, data))

    async def need_input(self, questions: Mapping[str, Question], state: str = "") -> None:
        """End the answer: the caller is to ask again and bring the answers along.

        What it brings is a new message with ``input`` and ``state``, to whichever instance of the
        agent; nothing of this one needs to be kept.
        """
        asked = {key: question.as_json() for key, question in questions.items()}
        self._turn.set_payload("input_required", {"requests": asked, "state": state})
        self._turn.end({"type": "reply", "body": "input required: " + ", ".join(sorted(questions))})
