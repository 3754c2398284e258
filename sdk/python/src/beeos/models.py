"""What the REST surface answers with."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from .message import StoredMessage

R = TypeVar("R", bound="Record")


@dataclass(frozen=True)
class Record:
    """An object of the REST surface. Members that this version does not know are left out."""

    @classmethod
    def parse(cls: type[R], found: Any) -> R:
        found = found if isinstance(found, dict) else {}
        known = {}
        for f in dataclasses.fields(cls):
            value = found.get(f.metadata.get("member", f.name))
            if value is not None:
                known[f.name] = value
        return cast("R", cast(Any, cls)(**known))


def _member(name: str, default: Any) -> Any:
    """A field that is called otherwise in JSON."""
    return field(default=default, metadata={"member": name})


@dataclass(frozen=True)
class AgentInfo(Record):
    """An agent as its callers and its owner see it."""

    id: str = ""
    name: str = ""
    display_name: str = _member("displayName", "")
    description: str = ""
    slug: str = ""
    status: str = ""  # active or inactive
    online: bool = False  # somebody serves it now
    visibility: str = ""
    version: str = ""
    mcp_url: str = _member("mcpUrl", "")
    a2a_url: str = _member("a2aUrl", "")
    skills: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Answer(Record):
    """What an agent answered. ``is_error``: the agent itself failed, and ``text`` says why."""

    text: str = ""
    context_id: str = ""  # give it to the next call to go on with the conversation
    is_error: bool = False
    parts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def files(self) -> list[dict[str, Any]]:
        """Those parts that are files: objects with url, mime_type, name, size and file_id."""
        return [p for p in self.parts if p.get("type") == "file"]


@dataclass(frozen=True)
class StreamEvent:
    """One piece of a streamed answer; the last one has the whole."""

    delta: str = ""
    reasoning: str = ""
    done: Answer | None = None


@dataclass(frozen=True)
class ToolResult(Record):
    """What a tool returned."""

    content: list[dict[str, Any]] = field(default_factory=list)
    structured: dict[str, Any] | None = _member("structuredContent", None)
    is_error: bool = _member("isError", False)

    @property
    def text(self) -> str:
        return "\n".join(str(c.get("text", "")) for c in self.content if c.get("type") == "text")


@dataclass(frozen=True)
class Task(Record):
    """A request to an agent that its caller comes back for."""

    task_id: str = ""
    agent_id: str = ""
    context_id: str = ""
    status: str = ""  # queued, running, input_required, auth_required, completed, failed, canceled, timeout, rejected
    question: dict[str, Any] | None = None  # text and payload, while it is input_required or auth_required
    result: dict[str, Any] | None = None  # text, parts and payload
    error: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    created_at: str = ""
    completed_at: str = ""
    deadline_at: str = ""

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "failed", "canceled", "timeout", "rejected")

    @property
    def text(self) -> str:
        return str((self.result or {}).get("text", ""))


@dataclass(frozen=True)
class Conversation(Record):
    """A conversation with an agent, which stays open."""

    conversation_id: str = ""
    agent_id: str = ""
    title: str = ""
    state: str = ""  # active or closed
    metadata: dict[str, str] = field(default_factory=dict)
    created_at: str = ""
    last_activity_at: str = ""


@dataclass(frozen=True)
class Update:
    """One event of a task or a conversation: a stored message, or a piece of a reply that is being
    written. ``so_far``: the piece is all of the reply so far, and replaces the pieces before."""

    message: StoredMessage
    delta: bool = False
    so_far: bool = False


@dataclass(frozen=True)
class File(Record):
    """A file on the server. download_url is a permission by itself and works for an hour."""

    file_id: str = ""
    filename: str = ""
    content_type: str = ""
    size: int = 0
    download_url: str = ""


@dataclass(frozen=True)
class Webhook(Record):
    """A receiver that is told how a task goes."""

    webhook_id: str = ""
    task_id: str = ""
    url: str = ""
    has_secret: bool = False
    disabled: bool = False
    created_at: str = ""


@dataclass(frozen=True)
class Delivery(Record):
    """One thing that a webhook was told, or will be."""

    delivery_id: str = ""
    webhook_id: str = ""
    task_id: str = ""
    status: str = ""  # pending, failed (another attempt follows), succeeded or dead_letter
    attempt_num: int = 0
    last_response_status: int = 0
    last_error: str = ""
    attempts: list[dict[str, Any]] = field(default_factory=list)
    created_at: str = ""


@dataclass(frozen=True)
class Approval(Record):
    """A tool call of an agent's that waits, or waited, for a person."""

    id: str = ""
    agent_id: str = ""
    skill: str = ""
    tool: str = ""
    arguments: Any = None
    status: str = ""  # pending, approved, rejected, expired or withdrawn
    caller: str = ""
    requested_at: str = ""
    expires_at: str = ""
    decided_by: str = ""
    reason: str = ""
