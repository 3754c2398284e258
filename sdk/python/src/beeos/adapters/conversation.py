"""What was said before in a channel.

A framework's own record of a conversation, with its tool calls, is kept in this process for the channels that were
talked on last. What it has not seen, because another instance answered or this one was restarted, is added from the
history that the server keeps: the record of each turn where it was kept with the answer, sealed, or else what people and
the agent said.
"""

from __future__ import annotations

import base64
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .. import _json
from ..context import Context
from ..message import Message, StoredMessage
from .sealing import Seal

T = TypeVar("T")

MAX_CHANNELS = 256
MAX_SAID = 100  # messages of a history that is read anew, and their characters: the newest count
MAX_CHARACTERS = 256 << 10
MAX_LOOKED_AT = 4 * MAX_SAID  # offsets back; holes and deltas among them
MAX_KEPT = 256 << 10  # bytes of the record of one turn
MAX_INLINE = 64 << 10  # bytes of a text that came as a file and is read to the model
MAX_PICTURE = 5 << 20  # bytes of an image that a model is shown
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")  # no model takes all, but all know these

_ROLES = {
    "chat_message": "user",
    "user.continue": "user",
    "agent_reply": "assistant",
    "agent.input_required": "assistant",
}


@dataclass(frozen=True)
class Said:
    """What the user, or the assistant, said; or a whole turn, as the framework itself recorded it."""

    role: str  # empty for a turn
    text: str
    id: str
    turn: list[Any] | None = None


@dataclass(frozen=True)
class Past(Generic[T]):
    """The conversation up to a message: what the framework kept of it, and what was said after that."""

    kept: T | None = None
    said: list[Said] = field(default_factory=list)


class Conversations(Generic[T]):
    """The framework's own records of the conversations that this process knows.

    ``framework`` is the name under which what a turn has added is kept with its answer; without one nothing is.
    """

    def __init__(self, framework: str = "") -> None:
        self._framework = framework
        self._kept: OrderedDict[str, tuple[int, T]] = OrderedDict()

    async def read_past(self, ctx: Context) -> Past[T]:
        """What came before the message of this answer."""
        message = ctx.message
        if message.offset <= 1:
            return Past()
        seen, kept = self._kept.get(message.channel, (0, None))
        since = max(seen, message.offset - MAX_LOOKED_AT)
        messages = await ctx.history(since)
        return Past(kept, _said_between(messages, since, message.offset, self._open_turns(ctx, messages)))

    def _open_turns(self, ctx: Context, messages: list[StoredMessage]) -> dict[str, list[Any]]:
        """What the framework recorded of turns, by their ids."""
        turns: dict[str, list[Any]] = {}
        seal = Seal(ctx._turn.worker.gateway.seed) if self._framework else None
        for m in messages:
            sealed = m.memory.get(self._framework) if isinstance(m.memory, dict) else None
            if seal is None or m.type != "agent_reply" or not isinstance(sealed, str):
                continue
            record = seal.open(sealed, f"{m.channel}/{m.in_reply_to}")
            if record is not None:
                turns[m.in_reply_to] = _json.loads(record)
        return turns

    def keep(self, ctx: Context, record: T, turn: list[Any] | None = None) -> None:
        """Keep the record of the conversation, up to this answer; and with the answer what the turn has added."""
        channel, offset = ctx.message.channel, ctx.message.offset
        if turn and self._framework:
            added = _json.dumps(turn)
            if len(added) <= MAX_KEPT:
                seal = Seal(ctx._turn.worker.gateway.seed)
                ctx.remember({self._framework: seal.close(added, f"{channel}/{ctx.message.id}")})
        if offset < self._kept.get(channel, (0, None))[0]:
            return  # a later message was answered first
        self._kept[channel] = offset, record
        self._kept.move_to_end(channel)
        if len(self._kept) > MAX_CHANNELS:
            self._kept.popitem(last=False)


def _said_between(
    messages: list[StoredMessage], since: int, before: int, recorded: dict[str, list[Any]] | None = None
) -> list[Said]:
    """What was said from an offset to another, in turns that began there."""
    recorded = recorded or {}
    turns = {m.id for m in messages if m.type == "chat_message" and since < m.offset < before}
    said: list[Said] = []
    characters = 0
    for m in reversed(messages):
        role = _ROLES.get(m.type)
        turn = m.id if m.type == "chat_message" else m.in_reply_to
        if role is None or turn not in turns or m.offset >= before:
            continue
        if turn in recorded:
            if m.type != "agent_reply":
                continue
            one = Said("", "", turn, recorded[turn])
        elif not m.body or _is_about_approval(m):
            continue
        else:
            one = Said(role, m.body, m.id)
        characters += len(_json.dumps(one.turn)) if one.turn else len(one.text)
        if characters > MAX_CHARACTERS or len(said) == MAX_SAID:
            break
        said.append(one)
    said.reverse()
    return said


def _is_about_approval(m: StoredMessage) -> bool:
    """An approval is asked for and decided in the conversation, too; the model has it from its tool."""
    return "approval" in m.payload or "decision" in m.payload


@dataclass(frozen=True)
class Picture:
    """An image that came along."""

    filename: str
    media_type: str
    data: bytes

    @property
    def url(self) -> str:
        """A link that holds the image itself."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


async def read_words(message: Message) -> str:
    """What the message says, with the texts among its files; of other files, that they came."""
    return await _read(message, None)


async def read_shown(message: Message) -> tuple[str, list[Picture]]:
    """The same for models that look at images: these are not in the words."""
    pictures: list[Picture] = []
    return await _read(message, pictures), pictures


async def _read(message: Message, pictures: list[Picture] | None) -> str:
    words = [message.text] if message.text else []
    for file in message.attachments:
        kind = file.content_type.partition(";")[0].strip().lower()
        is_text = kind.startswith("text/") or kind in ("application/json", "application/xml")
        if pictures is not None and kind in _PICTURES and file.size <= MAX_PICTURE:
            pictures.append(Picture(file.filename, kind, await file.download()))
        elif is_text and file.size <= MAX_INLINE:
            content = (await file.download()).decode(errors="replace")
            words.append(f"The file {file.filename!r}:\n{content}")
        else:
            words.append(f"The file {file.filename!r} ({kind}, {file.size} bytes) came along.")
    return "\n\n".join(words)
