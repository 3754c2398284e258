"""What the OpenAI Agents SDK has besides."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents import Agent, SQLiteSession
from conftest import Server

from beeos import SyncClient, adapt

from .script import Hands
from .steps import place
from .with_openai_agents import Scripted, make


def test_own_sessions(server: Server, client: SyncClient, tmp_path: Path) -> None:
    """A function that gives sessions keeps conversations itself, one per channel."""
    file = tmp_path / "sessions.db"
    options = {"session": lambda channel: SQLiteSession(channel, file)}
    with server.serving(adapt(make(Hands()), "sessions", options=options, **place(server, "sessions"))):
        first = client.call("sessions", "my name is Ada")
        assert client.call("sessions", "what is my name?", context_id=first.context_id).text == "You are Ada."
        assert client.call("sessions", "what is my name?").text == "I do not know you."
    assert file.stat().st_size > 0


def test_options(server: Server, client: SyncClient) -> None:
    """More arguments go to the runner; a run that takes too many turns is an error."""
    agent = adapt(make(Hands()), "brief", options={"max_turns": 1}, **place(server, "brief"))
    with server.serving(agent):
        answer = client.call("brief", "the forecast for Rome")
        assert answer.is_error and "Max turns" in answer.text
    with pytest.raises(TypeError, match="agent.hooks"):
        adapt(Agent(name="x", model=Scripted()), options={"hooks": None})
