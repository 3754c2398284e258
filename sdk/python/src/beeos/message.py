"""What a caller asks of the agent, and what was said before."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from .files import Attachment
from .trace import NO_TRACE, Trace, parse_trace

_NOTHING: dict[str, Any] = {}


@dataclass(frozen=True)
class Message:
    """What a caller asks of the agent."""

    id: str
    text: str = ""
    channel: str = ""  # one conversation; Context.history reads it
    offset: int = 0  # where it stands in the channel
    sender: str = ""  # who published it: "user:<id>" or "key:<id>"
    parts: list[Any] = field(default_factory=list)  # what came besides the text, as the caller wrote it

    method: str = ""  # empty = talk to the agent; tools/call, resources/read, prompts/get, completion/complete
    tool: str = ""  # with tools/call: which
    arguments: dict[str, Any] = field(default_factory=dict)  # with tools/call and prompts/get
    params: dict[str, Any] = field(default_factory=dict)  # with the other methods

    protocol: str = ""  # mcp, a2a, rest or web; replay for a call that somebody makes again
    revision: str = ""  # of MCP, as the caller speaks it
    model: str = ""  # which the caller chose; empty = the agent's own
    metadata: dict[str, str] = field(default_factory=dict)
    attachments: list[Attachment] = field(default_factory=list)
    can: frozenset[str] = frozenset()  # what the caller can be asked: elicitation, sampling, roots; progress

    input: dict[str, Any] = field(default_factory=dict)  # answers to the questions of Context.need_input
    state: str = ""  # what Context.need_input was given

    attempt: int = 1  # more when an earlier instance died over it
    deadline: datetime.datetime | None = None
    trace: Trace = NO_TRACE
    spans: bool = False  # steps become spans of the trace

    @property
    def redelivered(self) -> bool:
        """Whether an earlier instance had this message, and may have done part of the work."""
        return self.attempt > 1

    @classmethod
    def parse(cls, frame: dict[str, Any]) -> Message:
        """Read a chat_message frame."""
        call = _object(frame, "payload")
        trace = NO_TRACE
        if frame.get("traceparent"):
            trace = parse_trace(_text(frame, "traceparent"), _text(frame, "tracestate"))
        deadline = frame.get("deadline_ms")
        return cls(
            id=_text(frame, "message_id"),
            text=_text(frame, "body"),
            channel=_text(frame, "channel_id"),
            offset=frame.get("offset") or 0,
            sender=_text(frame, "publisher_id"),
            parts=frame.get("parts") or [],
            method=_text(call, "method"),
            tool=_text(call, "tool"),
            arguments=_object(call, "arguments"),
            params=_object(call, "params"),
            protocol=_text(call, "protocol"),
            revision=_text(call, "revision"),
            model=_text(call, "model"),
            metadata=_object(call, "metadata"),
            attachments=[Attachment.parse(a) for a in call.get("attachments") or ()],
            can=frozenset(call.get("can") or ()),
            input=_object(call, "input"),
            state=_text(call, "state"),
            attempt=max(frame.get("attempt") or 1, 1),
            deadline=_moment(deadline) if deadline else None,
            trace=trace,
            spans=bool(frame.get("spans")) and trace.sampled,
        )


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} is no string")
    return value


def _object(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    if value is None:
        return _NOTHING.copy()
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return value


def _moment(ms: float) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):
        return None  # so far away that it is none


@dataclass(frozen=True)
class StoredMessage:
    """A message of a conversation as the log has it."""

    id: str
    channel: str
    offset: int
    type: str  # chat_message, agent_reply, agent_reply_error, …
    body: str
    sender: str
    state: str = ""
    stop_reason: str = ""
    in_reply_to: str = ""
    parts: list[Any] = field(default_factory=list)
    payload: dict[str, Any] = field(default_factory=dict)
    created_at: str = ""

    @property
    def from_agent(self) -> bool:
        return self.type.startswith("agent")

    @property
    def memory(self) -> Any:
        """What Context.remember kept with the reply."""
        return self.payload.get("memory")

    @classmethod
    def parse(cls, found: dict[str, Any]) -> StoredMessage:
        payload = found.get("payload")
        return cls(
            id=found.get("message_id", ""),
            channel=found.get("channel_id", ""),
            offset=found.get("offset", 0),
            type=found.get("type", ""),
            body=found.get("body", ""),
            sender=found.get("publisher_id", ""),
            state=found.get("state", ""),
            stop_reason=found.get("stop_reason", ""),
            in_reply_to=found.get("in_reply_to", ""),
            parts=found.get("parts") or [],
            payload=payload if isinstance(payload, dict) else {},
            created_at=found.get("created_at", ""),
        )
