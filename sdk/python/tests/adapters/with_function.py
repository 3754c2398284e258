"""A function that is a whole agent: it asks its model, calls tools and tells what it did."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from beeos import Context, Denied

from .script import INPUT_TOKENS, MODEL, OUTPUT_TOKENS, Call, Hands, next_move, pace, words_of

SEES = "look"
FORGETS_TOOLS = True  # it is told what was said


def make(hands: Hands) -> Any:
    async def use(call: Call, ctx: Context) -> str:
        if call.tool == "erase":
            try:
                await ctx.approve(call.tool, call.arguments)
            except Denied as no:
                return str(no)
        with ctx.step(call.tool, "tool"):
            made = getattr(hands, call.tool)(**call.arguments)
            return str(made if isinstance(made, str) else await made)

    async def chat(text: str, history: list[dict[str, str]], ctx: Context) -> AsyncIterator[str]:
        said = [*((one["role"], one["content"]) for one in history), ("user", text)]
        while True:
            with ctx.step(MODEL, "model") as step:
                move = next_move(said)
                step.tokens(MODEL, INPUT_TOKENS, OUTPUT_TOKENS)
            if not isinstance(move, Call):
                break
            said.append(("tool", await use(move, ctx)))
        for piece in words_of(move):
            yield piece
            await pace.wait_async()

    return chat
