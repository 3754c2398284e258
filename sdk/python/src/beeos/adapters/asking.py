"""What a framework stops for: a tool call that somebody must allow, or a question to the person."""

from __future__ import annotations

import json
from typing import Any

from ..context import Context
from ..errors import Denied
from .telling import to_plain


async def find_objection(ctx: Context, tool: str, arguments: Any) -> str | None:
    """Ask the owner whether a tool may be called, and wait. None is a yes; a no is told in words for the model."""
    try:
        await ctx.approve(tool, read_arguments(arguments))
    except Denied as no:
        return str(no)
    return None


async def ask_person(ctx: Context, question: Any) -> Any:
    """Pause until the person answers; their words, or the object that their program sent."""
    question = to_plain(question)
    payload = question if isinstance(question, dict) else None
    said = await ctx.input_required(_words_of(question), payload)
    given = said.payload.get("input") if isinstance(said.payload, dict) else None
    return said.text if given is None else given


def read_arguments(arguments: Any) -> dict[str, Any]:
    """The arguments of a tool call, as an object. Models write them as JSON; what is none is shown as it is."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return {"arguments": arguments}
    plain = to_plain(arguments)
    if plain is None:
        return {}
    return plain if isinstance(plain, dict) else {"arguments": plain}


def _words_of(question: Any) -> str:
    """The question in an object, by the names that authors give it."""
    if isinstance(question, str):
        return question
    if isinstance(question, dict):
        for name in ("question", "message", "prompt", "prefix", "description", "text"):
            if isinstance(question.get(name), str) and question[name]:
                return str(question[name])
    return json.dumps(question, ensure_ascii=False)
