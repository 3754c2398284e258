"""How a framework's run becomes an answer: its words are streamed, its model and tool calls are steps."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..context import Context, StepKind
from ..steps import Step, current_step


class Telling:
    """The answer to one message, as a framework makes it."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self._streamed = ""
        self._between = False  # what comes next is a message of its own
        self._steps: dict[str, Step] = {}

    # Words.

    async def say(self, text: str) -> None:
        """Stream a piece of text."""
        if not text:
            return
        if self._between and self._streamed:
            text = "\n\n" + text
        self._between = False
        self._streamed += text
        await self.ctx.delta(text)

    def break_off(self) -> None:
        """What is said next is not the same message: a new paragraph."""
        self._between = True

    async def finish(self, final: Any) -> None:
        """End the answer with what the run came to. It is not said twice: most of the time it has been
        streamed."""
        final = to_plain(final)
        if final is None or final == "":
            await self.ctx.send()
        elif not isinstance(final, str):
            if isinstance(final, dict):
                self.ctx.structured(final)
            await self.ctx.correct(to_json(final))
        elif not self._streamed:
            await self.ctx.send(final)
        elif self._streamed.rstrip().endswith(final.strip()):
            await self.ctx.send()
        else:
            await self.ctx.correct(final)

    # Steps, by a key of the framework's.

    def begin(self, key: object, name: str, kind: StepKind, parent: object = None) -> Step:
        """Note that a model or a tool is being asked."""
        above = self._steps.get(str(parent)) if parent is not None else None
        step = self.ctx._turn.record.begin(name or kind, kind, above or current_step())
        self._steps[str(key)] = step
        return step

    def end(self, key: object, error: object = None) -> Step | None:
        """Note that it has answered, or failed."""
        step = self._steps.pop(str(key), None)
        if step is not None:
            step.end(error)
        return step

    def end_all(self, error: object = None) -> None:
        for key in list(self._steps):
            self.end(key, error)

    def is_open(self, key: object) -> bool:
        return str(key) in self._steps


def to_plain(value: Any) -> Any:
    """What a framework returns, as JSON has it: models of pydantic and dataclasses become objects."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(v) for v in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def to_json(value: Any) -> str:
    from .. import _json

    return _json.dumps(value).decode()
