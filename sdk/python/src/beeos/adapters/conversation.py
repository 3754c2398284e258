"""What was said before in a channel.

A framework's own record of a conversation, with its tool calls, is kept in this process for the channels that were
talked on last. What it has not seen, because another instance answered or this one was restarted, is added from the
history that the server keeps: what people and the agent said. That record is not put into the history: callers can
read it there, and it may hold what tools returned.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..context import Context
from ..message import Message, StoredMessage

T = TypeVar("T")

MAX_CHANNELS = 256
MAX_SAID = 100  # messages of a history that is read anew, and their characters: the newest count
MAX_CHARACTERS = 256 << 10
MAX_LOOKED_AT = 4 * MAX_SAID  # offsets back; holes and deltas among them
MAX_INLINE = 64 << 10  # bytes of a text that came as a file and is read to the model

_ROLES = {
    "chat_message": "user",
    "user.continue": "user",
    "agent_reply": "assistant",
    "agent.input_required": "assistant",
}


@dataclass(frozen=True)
class Said:
    """What the user, or the assistant, said."""

    role: str
    text: str
    id: str


@dataclass(frozen=True)
class Past(Generic[T]):
    """The conversation up to a message: what the framework kept of it, and what was said after that."""

    kept: T | None = None
    said: list[Said] = field(default_factory=list)


class Conversations(Generic[T]):
    """The framework's own records of the conversations that this process knows."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[int, T]] = OrderedDict()

    async def read_past(self, ctx: Context) -> Past[T]:
        """What came before the message of this answer."""
        message = ctx.message
        if message.offset <= 1:
            return Past()
        seen, kept = self._kept.get(message.channel, (0, None))
        since = max(seen, message.offset - MAX_LOOKED_AT)
        return Past(kept, _said_between(await ctx.history(since), since, message.offset))

    def keep(self, ctx: Context, record: T) -> None:
        """Keep the record of the conversation, up to this answer."""
        channel, offset = ctx.message.channel, ctx.message.offset
        if offset < self._kept.get(channel, (0, None))[0]:
            return  # a later message was answered first
        self._kept[channel] = offset, record
        self._kept.move_to_end(channel)
        if len(self._kept) > MAX_CHANNELS:
            self._kept.popitem(last=False)


def _said_between(messages: list[StoredMessage], since: int, before: int) -> list[Said]:
    """What was said from an offset to another, in turns that began there."""
    turns = {m.id for m in messages if m.type == "chat_message" and since < m.offset < before}
    said: list[Said] = []
    characters = 0
    for m in reversed(messages):
        role = _ROLES.get(m.type)
        turn = m.id if m.type == "chat_message" else m.in_reply_to
        if role is None or not m.body or turn not in turns or m.offset >= before or _is_about_approval(m):
            continue
        characters += len(m.body)
        if characters > MAX_CHARACTERS or len(said) == MAX_SAID:
            break
        said.append(Said(role, m.body, m.id))
    said.reverse()
    return said


def _is_about_approval(m: StoredMessage) -> bool:
    """An approval is asked for and decided in the conversation, too; the model has it from its tool."""
    return "approval" in m.payload or "decision" in m.payload


async def read_words(message: Message) -> str:
    """What the message says, with the texts among its files; of other files, that they came."""
    words = [message.text] if message.text else []
    for file in message.attachments:
        kind = file.content_type.partition(";")[0]
        is_text = kind.startswith("text/") or kind in ("application/json", "application/xml")
        if is_text and file.size <= MAX_INLINE:
            content = (await file.download()).decode(errors="replace")
            words.append(f"The file {file.filename!r}:\n{content}")
        else:
            words.append(f"The file {file.filename!r} ({kind}, {file.size} bytes) came along.")
    return "\n\n".join(words)
