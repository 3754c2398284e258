"""What was done for an answer, and what it took.

Whoever owns the agent sees it on the page of the call: when each step began, how long it took, what
it was part of.
"""

from __future__ import annotations

import math
import secrets
import time
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from . import _json
from .trace import Trace, current_trace

MAX_STEPS = 200
MAX_STEP_BYTES = 64 << 10  # of all of them, as JSON

_current_step: ContextVar[Step | None] = ContextVar("beeos_step", default=None)


class Usage:
    """Tokens by model, in the order in which these first came."""

    def __init__(self) -> None:
        self._models: dict[str, dict[str, Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._models)

    def add(self, model: str, input_tokens: int, output_tokens: int, cost_usd: float = 0) -> None:
        used = self._models.setdefault(model, {"model": model})
        for name, more in (("input_tokens", input_tokens), ("output_tokens", output_tokens), ("cost_usd", cost_usd)):
            if more and math.isfinite(more):
                used[name] = used.get(name, 0) + more

    def list(self) -> list[dict[str, Any]]:
        return list(self._models.values())


class Record:
    """The steps of one answer."""

    def __init__(self, trace: Trace, spans: bool) -> None:
        self.usage = Usage()  # as the author says it
        self._trace = trace
        self._spans = spans
        self._began = time.perf_counter()
        self._steps: list[dict[str, Any]] = []
        self._beyond = Usage()  # of steps that are too many to be kept

    def begin(self, name: str, kind: str, parent: Step | None) -> Step:
        entry: dict[str, Any] = {"name": name}
        if len(self._steps) >= MAX_STEPS:
            return Step(self, 0, entry, self._trace)
        if kind:
            entry["kind"] = kind
        if parent is not None and parent.number and parent.record is self:
            entry["parent"] = parent.number
        entry["after_us"], entry["took_us"] = self.elapsed(), -1
        trace = self._trace
        if self._spans:
            entry["span_id"] = f"{max(1, secrets.randbits(64)):016x}"
            trace = trace.at(entry["span_id"])
        self._steps.append(entry)
        return Step(self, len(self._steps), entry, trace)

    def elapsed(self) -> int:
        return int((time.perf_counter() - self._began) * 1e6)

    def use_beyond(self, model: str, input_tokens: int, output_tokens: int) -> None:
        self._beyond.add(model, input_tokens, output_tokens)

    def counted(self) -> list[dict[str, Any]]:
        """What the answer took, as far as it was told."""
        if self.usage:
            return self.usage.list()
        total = Usage()
        for entry in self._steps:
            if entry.get("input_tokens") or entry.get("output_tokens"):
                total.add(entry.get("model", ""), entry.get("input_tokens", 0), entry.get("output_tokens", 0))
        for used in self._beyond.list():
            total.add(used["model"], used.get("input_tokens", 0), used.get("output_tokens", 0))
        return total.list()

    def told(self) -> dict[str, Any]:
        """The members of the terminal frame: as many steps as the gateway keeps, and what the answer
        took where they do not say it."""
        if not self._steps:
            counted = self.counted() if self.usage or self._beyond else []
            return {"usage": counted} if counted else {}
        now = self.elapsed()
        for entry in self._steps:
            if entry["took_us"] < 0:
                entry["took_us"] = max(0, now - entry["after_us"])
        kept = self._steps
        while kept and len(_json.dumps(kept)) > MAX_STEP_BYTES:
            kept = kept[: len(kept) // 2]
        told: dict[str, Any] = {"steps": kept} if kept else {}
        if len(kept) < len(self._steps) or self.usage or self._beyond:
            told["usage"] = self.counted()
        return told


class Step:
    """Something that the agent does on its way to an answer.

    Use it with ``with``: what is begun inside is part of it, and an exception is noted.
    """

    def __init__(self, record: Record, number: int, entry: dict[str, Any], trace: Trace) -> None:
        self.record = record
        self.number = number  # in the list of the answer's steps, from 1; 0 = it is not kept
        self.trace = trace  # its place in a distributed trace, or that of the message
        self._entry = entry
        self._tokens: list[Token[Any]] = []

    @property
    def name(self) -> str:
        return str(self._entry["name"])

    def set(self, name: str, value: object) -> Step:
        """Say more about the step: what was looked for, how much was found. No secrets."""
        self._entry.setdefault("attributes", {})[name] = str(value)
        return self

    def tokens(self, model: str, input_tokens: int, output_tokens: int) -> Step:
        """Say which model was asked, and what that took."""
        if not self.number:
            self.record.use_beyond(model, input_tokens, output_tokens)  # it counts all the same
        self._entry.update(_present(model=model, input_tokens=input_tokens, output_tokens=output_tokens))
        return self

    def end(self, error: object = None) -> None:
        """End the step, with what went wrong if anything did."""
        if self._entry.get("took_us", 0) < 0:
            self._entry["took_us"] = max(0, self.record.elapsed() - self._entry["after_us"])
        if error is not None:
            self._entry["error"] = _shorten(str(error) or type(error).__name__, 500)

    def __enter__(self) -> Step:
        self._tokens = [_current_step.set(self)]
        if self.trace:
            self._tokens.append(current_trace.set(self.trace))
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self.end(err)
        for token in self._tokens:
            try:
                token.var.reset(token)
            except ValueError:
                pass  # a generator that was closed from elsewhere; that context is gone with it


def current_step() -> Step | None:
    return _current_step.get()


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _shorten(text: str, most: int) -> str:
    data = text.encode(errors="replace")
    return text if len(data) <= most else data[:most].decode(errors="ignore") + "…"
