"""A FastMCP server, called by MCP, A2A's siblings and REST: what it offers, tells and asks arrives."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.error import HTTPError

import mcp_types as mcp
import pytest
from conftest import WITHIN, Server, wait_until
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ResourceError, ToolError
from pydantic import BaseModel
from test_server import _mcp_post, _mcp_session, _mcp_stream, rpc

from beeos import SyncClient, adapt

from .steps import place, steps_of_last_call

NAME = "toolbox"


class Size(BaseModel):
    count: int


class Made:
    """A server, and what it did."""

    def __init__(self) -> None:
        self.began, self.cancelled = threading.Event(), threading.Event()
        self.lives: list[str] = []

        @asynccontextmanager
        async def life(server: Any) -> Any:
            self.lives.append("up")
            yield
            self.lives.append("down")

        self.server: Any = FastMCP(NAME, instructions="Tools of a test.", version="1.2", lifespan=life)
        self._add_tools()
        self._add_documents()

    def _add_tools(self) -> None:
        server = self.server

        @server.tool
        def forecast(city: str, days: int = 1) -> str:
            """The forecast for a city."""
            return f"sunny in {city} for {days} days"

        @server.tool
        def measure(count: int) -> Size:
            """Measure."""
            return Size(count=count)

        @server.tool
        async def report(ctx: Context) -> str:
            """Tell how it goes."""
            await ctx.info("half way")
            await ctx.report_progress(1, 2, "half")
            return "reported"

        @server.tool
        async def order(item: str, ctx: Context) -> str:
            """Ask how many."""
            said = await ctx.elicit(f"How many {item}?", response_type=Size)
            return f"{said.data.count} {item}" if said.action == "accept" else said.action

        @server.tool
        async def think(ctx: Context) -> str:
            """Ask the caller's model."""
            words = mcp.SamplingMessage(role="user", content=mcp.TextContent(type="text", text="Think of a number."))
            said = await ctx.session.create_message([words], max_tokens=9)
            return f"it said {said.content.text}"

        @server.tool
        async def wait() -> str:
            """Wait for a very long time."""
            self.began.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return "at last"

        @server.tool
        def breaks() -> str:
            """Fail."""
            raise ToolError("the disk is full")

        @server.tool(annotations={"destructiveHint": True})
        def erase(path: str) -> str:
            """Erase a file."""
            return f"erased {path}"

        @server.tool
        async def note_down(words: str, ctx: Context) -> str:
            """Keep words, and tell all that were kept."""
            kept = [*(await ctx.get_state("kept") or []), words]
            await ctx.set_state("kept", kept)
            return ", ".join(kept)

        @server.tool
        async def grow(ctx: Context) -> str:
            """Offer one more tool."""

            def grown() -> str:
                return "grown"

            server.add_tool(grown)
            await ctx.send_notification(mcp.ToolListChangedNotification())
            return "done"

    def _add_documents(self) -> None:
        server = self.server

        @server.resource("note://{name}", mime_type="text/plain")
        def note(name: str) -> str:
            if name == "broken":
                raise ResourceError("no such note")
            return f"about {name}"

        @server.resource("data://all", mime_type="application/json")
        def everything() -> str:
            return "{}"

        @server.prompt
        def review(code: str) -> str:
            """Review code."""
            return f"Review this: {code}"


@contextmanager
def serving(server: Server, made: Made) -> Iterator[None]:
    with server.serving(adapt(made.server, **place(server, NAME))):
        yield


@pytest.fixture
def made(server: Server) -> Iterator[Made]:
    made = Made()
    with serving(server, made):
        yield made
    assert made.lives[0] == "up" and made.lives[-1] == "down"


def test_offers(server: Server, client: SyncClient, made: Made) -> None:
    url, key = client.agent(NAME).mcp_url, server.dev["user_key"]
    tools = {tool["name"]: tool for tool in rpc(url, key, "tools/list", {})["tools"]}
    assert tools["forecast"]["description"] == "The forecast for a city."
    assert tools["forecast"]["inputSchema"]["properties"]["days"]["default"] == 1
    assert tools["measure"]["outputSchema"]["properties"]["count"]["type"] == "integer"
    assert "data://all" in [r["uri"] for r in rpc(url, key, "resources/list", {})["resources"]]
    templates = rpc(url, key, "resources/templates/list", {})["resourceTemplates"]
    assert "note://{name}" in [t["uriTemplate"] for t in templates]
    assert [p["name"] for p in rpc(url, key, "prompts/list", {})["prompts"]] == ["review"]
    assert client.agent(NAME).description == "Tools of a test."


def test_calls(server: Server, client: SyncClient, made: Made) -> None:
    assert client.call_tool(NAME, "forecast", {"city": "Rome", "days": 3}).text == "sunny in Rome for 3 days"
    (step,) = steps_of_last_call(server, client, NAME)
    assert (step["kind"], step["name"]) == ("tool", "forecast")
    assert client.call_tool(NAME, "measure", {"count": 7}).structured == {"count": 7}
    broken = client.call_tool(NAME, "breaks")
    assert broken.is_error and "the disk is full" in broken.text
    (step,) = steps_of_last_call(server, client, NAME)
    assert "the disk is full" in step["error"]
    url, key = client.agent(NAME).mcp_url, server.dev["user_key"]
    read = rpc(url, key, "resources/read", {"uri": "note://bees"})["contents"][0]
    assert (read["text"], read["mimeType"]) == ("about bees", "text/plain")
    got = rpc(url, key, "prompts/get", {"name": "review", "arguments": {"code": "x = 1"}})
    assert got["messages"][0]["content"]["text"] == "Review this: x = 1"
    with pytest.raises(HTTPError):  # an error of the protocol, in the server's words
        rpc(url, key, "resources/read", {"uri": "note://broken"})


def test_state_is_the_conversations(server: Server, client: SyncClient, made: Made) -> None:
    """What the server keeps for a session is there for the next call of the conversation, and for no other."""
    url, key = client.agent(NAME).mcp_url, server.dev["user_key"]

    def note_down(session: str, words: str) -> str:
        params = {"name": "note_down", "arguments": {"words": words}}
        for said in _mcp_stream(url, key, session, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}):
            if said.get("id") == 1:
                return str(said["result"]["content"][0]["text"])
        raise AssertionError("no answer came")

    (one, _), (other, _) = _mcp_session(url, key, {}), _mcp_session(url, key, {})
    assert [note_down(one, "a"), note_down(one, "b"), note_down(other, "c"), note_down(one, "d")] == ["a", "a, b", "c", "a, b, d"]


def test_progress_logs_and_questions(server: Server, client: SyncClient, made: Made) -> None:
    url, key = client.agent(NAME).mcp_url, server.dev["user_key"]
    session, _ = _mcp_session(url, key, {"elicitation": {}, "sampling": {}})

    def call(tool: str, arguments: Any, answers: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}
        heard = []
        for said in _mcp_stream(url, key, session, {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}):
            if said.get("method") in answers:
                result = {"jsonrpc": "2.0", "id": said["id"], "result": answers[said["method"]]}
                with _mcp_post(url, key, session, result):
                    pass
            elif said.get("id") == 7:
                return said["result"]["content"][0]["text"], heard
            heard.append(said)
        raise AssertionError("no answer came")

    text, heard = call("report", {}, {})
    told = {said["method"]: said["params"] for said in heard}
    assert text == "reported"
    assert (told["notifications/progress"]["progress"], told["notifications/progress"]["message"]) == (1, "half")
    assert "half way" in str(told["notifications/message"]["data"])
    elicited = {"elicitation/create": {"action": "accept", "content": {"count": 3}}}
    text, heard = call("order", {"item": "hives"}, elicited)
    assert text == "3 hives" and heard[0]["params"]["message"] == "How many hives?"
    assert call("order", {"item": "hives"}, {"elicitation/create": {"action": "decline"}})[0] == "decline"
    sampled = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "forty-two"}}
    assert call("think", {}, {"sampling/createMessage": sampled})[0] == "it said forty-two"
    unable = client.call_tool(NAME, "order", {"item": "hives"})  # a caller that cannot be asked
    assert unable.is_error


def test_approval(server: Server, client: SyncClient, made: Made) -> None:
    """A destructive tool is asked for; the rest go ahead."""
    for path, decide in {"yes": True, "no": False}.items():
        results: list[Any] = []
        calling = threading.Thread(target=lambda p=path: results.append(_call(server, "erase", {"path": p})))
        calling.start()
        (asked,) = wait_until(lambda p=path: [a for a in client.approvals() if a.arguments == {"path": p}], "the question")
        client.approve(asked.id) if decide else client.reject(asked.id, "keep it")
        calling.join(WITHIN)
        assert results[0].text == "erased yes" if decide else "keep it" in results[0].text and results[0].is_error


def _call(server: Server, tool: str, arguments: Any) -> Any:
    with server.client() as client:
        return client.call_tool(NAME, tool, arguments)


def test_cancel(server: Server, client: SyncClient, made: Made) -> None:
    url, key = client.agent(NAME).mcp_url, server.dev["user_key"]
    session, _ = _mcp_session(url, key, {})
    call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
    calling = threading.Thread(target=lambda: list(_mcp_stream(url, key, session, call)), daemon=True)
    calling.start()
    assert made.began.wait(WITHIN)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9, "reason": "enough"}}
    with _mcp_post(url, key, session, cancel):
        pass
    assert made.cancelled.wait(WITHIN), "the tool goes on"


def test_changes(server: Server, client: SyncClient, made: Made) -> None:
    assert client.call_tool(NAME, "grow").text == "done"
    wait_until(lambda: _offers(server, client, "grown"), "the new tool")
    assert client.call_tool(NAME, "grown").text == "grown"


def _offers(server: Server, client: SyncClient, tool: str) -> bool:
    listed = rpc(client.agent(NAME).mcp_url, server.dev["user_key"], "tools/list", {})["tools"]
    return any(one["name"] == tool for one in listed)


def test_one_tool_talks(server: Server, client: SyncClient) -> None:
    """Over REST and A2A, which know no tools, a server with one tool is that tool."""
    single: Any = FastMCP("single")

    @single.tool
    def shout(text: str) -> str:
        return text.upper()

    with server.serving(adapt(single, **place(server, "single"))):
        assert client.call("single", "hello").text == "HELLO"
