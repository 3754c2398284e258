"""What can go wrong, and what a handler raises to say so."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """A refusal by the server: ``code`` to switch on, ``message`` for a person."""

    def __init__(self, code: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retry_after = retry_after  # seconds, with rate_limited


class Unreachable(Exception):
    """No server answered, or its answer broke off."""


class SetupError(Exception):
    """What trying again cannot mend: the agent cannot join, or its definition was refused."""


class Refuse(Exception):
    """Raise it to decline to answer."""


class Busy(Exception):
    """Raise it to ask the caller to come back later."""


class Fault(Exception):
    """An error of the caller's protocol.

    It tells the program that calls, not the model behind it, that there is no answer. Any other
    exception of a handler becomes an answer that says what went wrong.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class CannotAsk(Fault):
    """The caller's program cannot be asked this. ``Message.can`` tells beforehand."""

    def __init__(self, method: str, capability: str) -> None:
        message = f"{method}: the caller cannot be asked this"
        super().__init__(-32021, message, {"requiredCapabilities": {capability: {}}})


class Denied(Exception):
    """A tool call that may not be made. Tell the model: it can try something else."""

    def __init__(self, tool: str, reason: str = "", expired: bool = False) -> None:
        if expired:
            text = f"{tool} was not approved in time"
        elif reason:
            text = f"{tool} was denied: {reason}"
        else:
            text = f"{tool} was denied"
        super().__init__(text)
        self.tool = tool
        self.reason = reason
        self.expired = expired


class Ended(Exception):
    """The answer has ended already."""

    def __init__(self) -> None:
        super().__init__("this answer has ended already")


class Cancelled(Exception):
    """Raised in a handler that is not async when nobody wants its answer any more.

    An async handler gets ``asyncio.CancelledError`` instead.
    """


class QuestionFailed(Exception):
    """A question to the caller, the owner or another agent that got no answer."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


# Errors of the program, as opposed to those that it raises for its caller. Their words are for the
# log: they may name what callers must not see, and tell them nothing that they could act on.
CRASHES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    RecursionError,
    ReferenceError,
    SyntaxError,
    SystemError,
    TypeError,
)

CRASHED = "the agent crashed over this message; its log has the details"


def describe(err: BaseException) -> str:
    """What the caller is told of an exception."""
    if isinstance(err, CRASHES):
        return CRASHED
    return str(err) or type(err).__name__
