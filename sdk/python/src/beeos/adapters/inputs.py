"""What does not chat but takes inputs: a graph without messages, a workflow, a crew.

It is a tool with the schema of its inputs, and whoever just talks to the agent gives them as a JSON object, or as
text where one text is all that is needed. An input that is called ``history`` is what was said before: the adapter
gives it, not the caller.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from ..agent import Agent
from ..context import Context
from ..errors import Refuse
from ..message import Message
from .conversation import Conversations, read_words

HISTORY = "history"

Schema = dict[str, Any]
Run = Callable[[dict[str, Any], Context], Awaitable[None]]


def offer_inputs(agent: Agent, tool: str, description: str, schema: Schema, run: Run) -> None:
    """Let the agent run something that takes these inputs, as a tool and in talk."""
    history = (schema.get("properties") or {}).get(HISTORY)
    schema = _without_history(schema)
    talks: Conversations[None] = Conversations()

    async def run_with_history(inputs: dict[str, Any], ctx: Context) -> None:
        if history is not None:
            inputs = {**inputs, HISTORY: await _read_history(history, talks, ctx)}
        await run(inputs, ctx)

    @agent.tool(name=tool, description=description, schema=schema)
    async def call(ctx: Context, **inputs: Any) -> None:
        await run_with_history(inputs, ctx)

    @agent.message
    async def chat(message: Message, ctx: Context) -> None:
        await run_with_history(read_inputs(await read_words(message), schema), ctx)


async def _read_history(schema: Schema, talks: Conversations[None], ctx: Context) -> Any:
    """What was said before, as a list or as one text."""
    said = (await talks.read_past(ctx)).said
    if schema.get("type") == "string":
        return "\n".join(f"{one.role}: {one.text}" for one in said)
    return [{"role": one.role, "content": one.text} for one in said]


def _without_history(schema: Schema) -> Schema:
    known = {name: shape for name, shape in (schema.get("properties") or {}).items() if name != HISTORY}
    needed = [name for name in schema.get("required") or [] if name != HISTORY]
    rest = {name: value for name, value in schema.items() if name not in ("properties", "required")}
    return {**rest, "properties": known, **({"required": needed} if needed else {})}


def read_inputs(text: str, schema: Schema) -> dict[str, Any]:
    """The inputs in what somebody says."""
    if text.lstrip().startswith("{"):
        try:
            given = json.loads(text)
        except ValueError:
            given = None
        if isinstance(given, dict):
            return given
    known: dict[str, Any] = schema.get("properties") or {}
    needed = [name for name in schema.get("required") or [] if name in known]
    wanted = needed or list(known)
    if not wanted:
        return {}
    if len(wanted) == 1 and known[wanted[0]].get("type", "string") == "string":
        return {wanted[0]: text}
    raise Refuse(f"this agent needs a JSON object with: {', '.join(wanted)}")
