"""What a handler returns or yields, as an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _json

if TYPE_CHECKING:
    from .context import Context


@dataclass(frozen=True)
class Image:
    """A picture, to be returned or yielded."""

    data: bytes
    mime_type: str = "image/png"


@dataclass(frozen=True)
class Audio:
    """A sound, to be returned or yielded."""

    data: bytes
    mime_type: str = "audio/wav"


@dataclass(frozen=True)
class Document:
    """A text or a binary document, to be returned or yielded."""

    uri: str
    content: str | bytes
    mime_type: str = ""


@dataclass(frozen=True)
class Link:
    """The address of something that the client can read, to be returned or yielded."""

    uri: str
    name: str
    mime_type: str = ""


_CONTENT = (Image, Audio, Document, Link)


async def add_piece(ctx: Context, piece: Any) -> None:
    """Stream what a handler yields: text, content, or a part."""
    if isinstance(piece, str):
        await ctx.delta(piece)
    elif isinstance(piece, _CONTENT):
        _add_content(ctx, piece)
    elif isinstance(piece, dict) and isinstance(piece.get("type"), str):
        await ctx.part(piece)
    elif piece is not None:
        raise ValueError(f"yield text, content or a part, not {type(piece).__name__}")


async def end_with(ctx: Context, result: Any) -> None:
    """End the answer with what a handler returns, unless it has ended it."""
    turn = ctx._turn
    if turn.terminal is not None:
        return
    if result is None:
        turn.send("")
    elif isinstance(result, str):
        turn.send(result)
    elif isinstance(result, _CONTENT):
        _add_content(ctx, result)
        turn.send("")
    elif isinstance(result, (list, tuple)) and result and any(isinstance(r, _CONTENT) for r in result):
        for piece in result:
            _add_content(ctx, piece)
        turn.send("")
    else:
        data = _json.dumps(result)
        if data.startswith(b"{"):  # callers that know structured results take objects alone
            ctx.structured(result)
        turn.send(data.decode())


def _add_content(ctx: Context, piece: Any) -> None:
    if isinstance(piece, Image):
        ctx.image(piece.data, piece.mime_type)
    elif isinstance(piece, Audio):
        ctx.audio(piece.data, piece.mime_type)
    elif isinstance(piece, Document):
        ctx.resource(piece.uri, piece.content, piece.mime_type)
    elif isinstance(piece, Link):
        ctx.link(piece.uri, piece.name, piece.mime_type)
    else:
        ctx.text(piece if isinstance(piece, str) else _json.dumps(piece).decode())
