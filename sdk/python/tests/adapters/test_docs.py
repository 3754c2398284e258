"""The framework's program in the documents does what it says, when it is run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Server

from beeos import Agent, SyncClient

from .script import Hands
from .steps import place

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "python.md"
IMPORTED = {
    "langgraph": "langchain",
    "pydantic_ai": "pydantic_ai",
    "openai_agents": "agents",
    "fastmcp": "fastmcp",
    "google_adk": "google",
    "llama_index": "llama_index",
    "crewai": "crewai",
}
FRAMEWORK = os.environ["BEEOS_FRAMEWORK"]


def test_program(server: Server, client: SyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (program,) = [p for p in programs if re.search(rf"^from {IMPORTED[FRAMEWORK]}\b", p, re.MULTILINE)]
    served: list[Agent] = []
    monkeypatch.setattr(Agent, "run", lambda agent: served.append(agent))
    given: dict[str, Any] = {"forecast": Hands().forecast, "model": _model()}
    exec(compile(program, "program", "exec"), given)
    (agent,) = served
    agent._place.update(place(server, "weather"))
    with server.serving(agent):
        if FRAMEWORK == "fastmcp":
            assert client.call_tool("weather", "forecast", {"city": "Rome"}).text == "sunny in Rome"
        else:
            first = client.call("weather", "my name is Ada")
            assert client.call("weather", "what is my name?", context_id=first.context_id).text == "You are Ada."


def _model() -> Any:
    if FRAMEWORK == "fastmcp":
        return None
    from . import test_framework

    return test_framework.made_with.model()
