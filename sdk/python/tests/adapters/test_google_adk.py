"""What Google ADK has besides."""

from __future__ import annotations

from typing import Any

from conftest import Server, wait_until
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.sessions import InMemorySessionService
from google.adk.tools import request_input
from google.genai import types

from beeos import SyncClient, adapt

from .script import Hands
from .steps import place
from .with_google_adk import make


class Curious(BaseLlm):
    """Asks the person before it answers."""

    async def generate_content_async(self, request: LlmRequest, stream: bool = False) -> Any:
        last = request.contents[-1].parts[-1]
        if last.function_response:
            part = types.Part(text=f"So {last.function_response.response['result']}.")
        else:
            part = types.Part(function_call=types.FunctionCall(name="adk_request_input", args={"message": "Which colour?"}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def test_question(server: Server, client: SyncClient) -> None:
    agent = LlmAgent(name="curious", model=Curious(model="curious-1"), tools=[request_input])
    with server.serving(adapt(agent, **place(server, "curious"))):
        task = client.create_task("curious", "paint")
        asked = wait_until(lambda: client.task("curious", task.task_id).question, "the question")
        assert asked and asked["text"] == "Which colour?"
        client.continue_task("curious", task.task_id, "blue")
        assert client.wait_for_task("curious", task.task_id).text == "So blue."


def test_app_with_own_sessions(server: Server, client: SyncClient) -> None:
    """A session service keeps conversations itself: the channel is the session, the caller its user."""
    sessions = InMemorySessionService()
    app = App(name="helpers", root_agent=make(Hands()))
    with server.serving(adapt(app, "keeper", options={"session_service": sessions}, **place(server, "keeper"))):
        first = client.call("keeper", "my name is Ada")
        assert client.call("keeper", "what is my name?", context_id=first.context_id).text == "You are Ada."
    ((user, kept),) = sessions.sessions["helpers"].items()
    assert user.startswith("user:") and first.context_id in kept
