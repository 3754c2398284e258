"""A function: what it takes decides how it is served."""

from __future__ import annotations

import inspect
from typing import Any

from ..agent import Agent
from ..context import Context
from ..functions import Function
from ..message import Message
from ..results import end_with
from .conversation import Conversations
from .inputs import HISTORY

# Parameters that are what somebody says, rather than an argument of a tool.
_WORDS = ("message", "text", "prompt", "query", "question", "input")


def adapt(function: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
    """A function of a Message, or of one text that is called message, text, prompt, query, question or input,
    answers whoever talks to the agent. With ``history`` it gets what was said before, as objects with ``role`` and
    ``content``. Any other function is a tool."""
    if options:
        raise TypeError(f"a function takes no options: {', '.join(options)}")
    made = Function(function)
    agent = Agent(name or made.name.replace("_", "-"), **{"description": made.about, **settings})
    wanted = [p for p in made.parameters if p.name != HISTORY]
    if len(wanted) != 1 or not _is_words(wanted[0], made.hints.get(wanted[0].name)):
        agent.tool(function)
    elif len(wanted) == len(made.parameters):
        agent.message(function)
    else:
        agent.message(_Talk(made, wanted[0].name).answer)
    return agent


def _is_words(parameter: inspect.Parameter, hint: Any) -> bool:
    return hint is Message or hint in (str, None) and parameter.name in _WORDS


class _Talk:
    """A function that wants to know what was said before."""

    def __init__(self, function: Function, words: str) -> None:
        self._function = function
        self._words = words
        self._takes_message = function.hints.get(words) is Message
        self._talks: Conversations[None] = Conversations()

    async def answer(self, message: Message, ctx: Context) -> None:
        past = await self._talks.read_past(ctx)
        given = {
            self._words: message if self._takes_message else message.text,
            HISTORY: [{"role": said.role, "content": said.text} for said in past.said],
        }
        await end_with(ctx, await self._function.run(ctx, **given))
