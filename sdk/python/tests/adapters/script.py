"""What the models of all frameworks say here: they follow a script instead of a network."""

from __future__ import annotations

import asyncio
import base64
import re
import threading
from dataclasses import dataclass, field
from typing import Any

MODEL = "scripted-1"
INPUT_TOKENS, OUTPUT_TOKENS = 11, 7  # of every answer
SEEN_WITHIN = 10.0  # seconds in which a piece reaches the caller, on a machine that has much else to do


@dataclass(frozen=True)
class Call:
    """A model's wish for a tool."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


def next_move(said: list[tuple[str, str]]) -> str | Call:
    """What the model does after all that was said, by ("user" | "assistant" | "tool", text)."""
    said = [(role, text) for role, text in said if text]
    role, text = said[-1]
    if role == "tool":
        return f"The tool said: {text}."
    if found := re.search(r"forecast for (\w+)", text):
        return Call("forecast", {"city": found[1]})
    if found := re.search(r"erase (\w+)", text):
        return Call("erase", {"path": found[1]})
    if found := re.search(r"bake (\w+)", text):
        return Call("bake", {"cake": found[1]})
    if "wait" in text:
        return Call("wait")
    if "break" in text:
        raise RuntimeError("the model is overloaded")
    if found := re.search(r"my name is (\w+)", text):
        return f"Hello, {found[1]}, nice to meet you."
    if "my name" in text:
        names = [found[1] for who, words in said if who == "user" and (found := re.search(r"my name is (\w+)", words))]
        return f"You are {names[-1]}." if names else "I do not know you."
    if "the tools" in text:
        return "They said: " + "; ".join(text for who, text in said if who == "tool") + "."
    if "how many" in text:
        return f"You have said {sum(who == 'user' for who, _ in said)} things."
    return f"You said: {text}"


def sight_of(media_type: str, data: bytes | str) -> str:
    """How an image stands in what a user says."""
    return f"<{media_type}: {data if isinstance(data, str) else base64.b64encode(data).decode()}>"


def words_of(text: str) -> list[str]:
    """The pieces in which a model says it."""
    return re.findall(r"\S+\s*", text)


class Pace:
    """Lets a model say its next piece when the caller has seen the one before, and notes when that was held back."""

    def __init__(self) -> None:
        self._seen: threading.Semaphore | None = None
        self.waits = 0
        self.held_back = False

    def begin(self) -> threading.Semaphore:
        self.waits, self.held_back = 0, False
        self._seen = threading.Semaphore(0)
        return self._seen

    def end(self) -> None:
        self._seen = None

    def wait(self) -> None:
        if self._seen is None or self.held_back:
            return
        self.waits += 1
        self.held_back = not self._seen.acquire(timeout=SEEN_WITHIN)

    async def wait_async(self) -> None:
        await asyncio.to_thread(self.wait)


pace = Pace()


class Hands:
    """What the tools did."""

    def __init__(self) -> None:
        self.erased: list[str] = []
        self.began = threading.Event()
        self.cancelled = threading.Event()

    def forecast(self, city: str) -> str:
        """The forecast for a city."""
        return f"sunny in {city}"

    def erase(self, path: str) -> str:
        """Erase a file."""
        self.erased.append(path)
        return f"erased {path}"

    def bake(self, cake: str) -> str:
        """Bake a cake, which never works."""
        raise RuntimeError(f"the oven is too cold for {cake}")

    async def wait(self) -> str:
        """Wait for a very long time."""
        self.began.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "at last"
