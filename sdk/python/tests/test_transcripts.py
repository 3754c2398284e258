"""Plays the talks that every SDK has to get right, with both faces of this one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixture_agent import async_fixture, sync_fixture
from stage import SPEC, Stage

TRANSCRIPTS = sorted((SPEC / "transcripts").glob("*.json"))


def test_there_are_transcripts() -> None:
    assert len(TRANSCRIPTS) > 20


@pytest.mark.parametrize("make", [async_fixture, sync_fixture], ids=["async", "sync"])
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.stem)
def test_transcript(path: Path, make: Callable[..., Any]) -> None:
    script = json.loads(path.read_text())
    assert script["protocol"] == 1
    asyncio.run(asyncio.wait_for(_play(script, make), 60))


async def _play(script: dict[str, Any], make: Callable[..., Any]) -> None:
    await Stage().play(script, make)
