"""The place in a distributed trace, as W3C Trace Context writes it."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass

_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_STATE = re.compile(r"[\t -~]{0,512}")


@dataclass(frozen=True)
class Trace:
    """Pass it on to servers that the agent asks: ``parent`` is the header traceparent, ``state``, if
    it is not empty, tracestate. An empty one is none."""

    parent: str = ""
    state: str = ""

    def __bool__(self) -> bool:
        return bool(self.parent)

    @property
    def sampled(self) -> bool:
        """Whether somebody looks at the trace."""
        return bool(self.parent) and int(self.parent[-2:], 16) & 1 == 1

    def at(self, span: str) -> Trace:
        """The same trace at another of its spans."""
        return Trace(self.parent[:36] + span + self.parent[52:], self.state) if self.parent else self

    @property
    def headers(self) -> dict[str, str]:
        """What a request says of it."""
        if not self.parent:
            return {}
        return {"traceparent": self.parent, **({"tracestate": self.state} if self.state else {})}


NO_TRACE = Trace()


def parse_trace(parent: str, state: str) -> Trace:
    """Read what somebody else wrote. What is malformed is as if it were not there."""
    if len(parent) > 55 and parent[55] == "-" and parent[:2] != "00":
        parent = parent[:55]  # of a later version; what it adds is not for us
    found = _PARENT.fullmatch(parent)
    if not found:
        return NO_TRACE
    version, trace, span, _ = found.groups()
    if version == "ff" or not trace.strip("0") or not span.strip("0"):
        return NO_TRACE
    state = state.replace("\t", " ").strip() if _STATE.fullmatch(state) else ""
    return Trace("00" + parent[2:], state)


current_trace: ContextVar[Trace] = ContextVar("beeos_trace", default=NO_TRACE)
