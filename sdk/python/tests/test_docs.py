"""The programs of the documents are programs."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

from beeos import Agent, SyncClient
from beeos.models import Answer, StreamEvent

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [Path(__file__).parents[1] / "README.md", DOCS / "how-to" / "python.md", DOCS / "start" / "agent-python.md"]
# What serves a framework is run where that is installed: adapters/test_docs.py.
FRAMEWORKS = re.compile(r"^from (langchain|pydantic_ai|agents|fastmcp|google|llama_index|crewai)\b", re.MULTILINE)
PROGRAMS = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1)
    if not FRAMEWORKS.search(code)
]


def test_there_are_programs() -> None:
    assert len(PROGRAMS) > 8


@pytest.mark.parametrize("code", PROGRAMS)
def test_program(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs up to where it would need a server."""
    made = types.ModuleType("program")
    monkeypatch.setitem(sys.modules, "program", made)  # where its type hints are looked up
    monkeypatch.setattr(Agent, "run", lambda agent: None)
    monkeypatch.setattr(SyncClient, "call", lambda client, agent, message: Answer(text="sunny"))
    monkeypatch.setattr(SyncClient, "stream", lambda client, agent, message: [StreamEvent(delta="sunny")])
    exec(compile(code, "program", "exec"), made.__dict__)
    for agent in vars(made).values():
        if isinstance(agent, Agent):
            assert agent.definition()["name"] == agent.name
