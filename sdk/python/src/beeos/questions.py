"""Questions that wait for their answers: to the caller, the owner, the person, or another agent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import Ended, QuestionFailed
from .turn import MAX_FRAME, Frame, TooLarge, Turn

if TYPE_CHECKING:
    from .worker import Worker

_LOST = "the connection to the gateway was lost before the answer came"


@dataclass
class _Question:
    frame: bytes
    answer: asyncio.Future[Frame]


class Questions:
    """What an answer names its question by: the turn and an id.

    What is asked of a caller or of another agent has no turn here, for its answer does not say one;
    it fails with its connection. An approval or a pause is asked again on the next one.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._open: dict[tuple[str, str], _Question] = {}

    async def pose(self, turn: Turn, what: str, frame: Frame, *, lasting: bool, pause: bool = False) -> Frame:
        """Send a question and wait for its answer. ``what`` names it in errors."""
        key = (turn.message.id if lasting else "", frame["request_id"])
        data = turn.encode(frame)
        if len(data) > MAX_FRAME:
            raise QuestionFailed(f"{what}: {TooLarge()}")
        if turn.terminal is not None:
            raise Ended()
        if key in self._open:
            raise QuestionFailed(f"{what}: {key[1]!r} waits for a decision already; give each call a key of its own")
        if not lasting and self._worker.link is None:
            raise QuestionFailed(f"{what}: {_LOST}")
        question = _Question(data, asyncio.get_running_loop().create_future())
        self._open[key] = question
        self._worker.send(data)
        try:
            answer = await (self._wait_for_words(turn, question.answer) if pause else question.answer)
        finally:
            self._open.pop(key, None)
        if error := answer.get("error"):
            raise QuestionFailed(f"{what}: {error.get('code')}: {error.get('message')}", error.get("code") or "")
        if answer is _DROPPED:
            raise QuestionFailed(f"{what}: {_LOST}")
        return answer

    async def _wait_for_words(self, turn: Turn, answer: asyncio.Future[Frame]) -> Frame:
        """A pause ends with what the person says, which names only the turn."""
        if turn.words:
            return turn.words.popleft()
        turn.pauses.append(answer)
        try:
            return await answer
        finally:
            turn.pauses.remove(answer)

    def answer(self, frame: Frame) -> None:
        """Hand an answer, or that there is none, to whoever asked."""
        request = str(frame.get("request_id") or "")
        for turn in (frame.get("message_id") or "", ""):
            question = self._open.pop((turn, request), None)
            if question is not None and not question.answer.done():
                question.answer.set_result(frame)

    def lasting(self, turn: str) -> list[bytes]:
        """What a turn asks again on a new connection."""
        return [q.frame for (asker, _), q in self._open.items() if asker == turn and asker]

    def drop(self) -> None:
        """Fail what a lost connection takes with it."""
        for key in [key for key in self._open if not key[0]]:
            question = self._open.pop(key)
            if not question.answer.done():
                question.answer.set_result(_DROPPED)


_DROPPED: dict[str, Any] = {}


def say_words(turn: Turn, frame: Frame) -> None:
    """Hand what the person said to whoever pauses the turn, or keep it for one who is about to."""
    for waiting in turn.pauses:
        if not waiting.done():
            waiting.set_result(frame)
            return
    if len(turn.words) == turn.words.maxlen:
        turn.worker.log.warning("nobody waits for what the user said (message %s)", turn.message.id)
        return
    turn.words.append(frame)
