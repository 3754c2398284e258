"""The SDK against a real server: every way in, and everything that a handler can do."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import WITHIN, Server, run, wait_until

from beeos import (
    Cancelled,
    Client,
    Context,
    Denied,
    Error,
    Image,
    Message,
    Question,
    QuestionFailed,
    SyncClient,
    SyncContext,
)


def post(url: str, key: str, body: Any, **headers: str) -> Any:
    """A request by hand, as programs make it that know nothing of this SDK."""
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Accept": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), sent)
    with urllib.request.urlopen(request, timeout=WITHIN) as answer:
        return json.load(answer)


def rpc(url: str, key: str, method: str, params: Any) -> Any:
    answer = post(url, key, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert "error" not in answer, answer
    return answer["result"]


FIVE_LINES = '''
from beeos import Agent
bot = Agent("weather")

@bot.tool
def forecast(city: str, days: int = 1) -> str:
    "The forecast for a city."
    return f"sunny in {city} for {days} days"

bot.run()
'''


def test_five_lines(server: Server, client: SyncClient, tmp_path: Path) -> None:
    """The agent of the README finds beeos dev by itself, is called over MCP, A2A and REST, and leaves in order."""
    (tmp_path / "weather.py").write_text(FIVE_LINES)
    agent = subprocess.Popen([sys.executable, str(tmp_path / "weather.py")], env=server.environment(), stderr=subprocess.PIPE)
    try:
        wait_until(lambda: any(a.name == "weather" and a.online for a in client.agents()), "the start of the agent")
        found = client.agent("weather")
        key = server.dev["user_key"]
        called = rpc(found.mcp_url, key, "tools/call", {"name": "forecast", "arguments": {"city": "Rome", "days": 3}})
        assert called["content"] == [{"type": "text", "text": "sunny in Rome for 3 days"}]
        assert client.call_tool("weather", "forecast", {"city": "Rome"}).text == "sunny in Rome for 1 days"
        (tool,) = [t for t in rpc(found.mcp_url, key, "tools/list", {})["tools"] if t["name"] == "forecast"]
        assert tool["description"] == "The forecast for a city."
        assert tool["inputSchema"]["properties"]["days"] == {"type": "integer", "default": 1}
        message = {"role": "user", "messageId": "1", "kind": "message", "parts": [{"kind": "text", "text": "Oslo"}]}
        peer = rpc(found.a2a_url, key, "message/send", {"message": message})
        assert "sunny in Oslo for 1 days" in json.dumps(peer)
        assert client.call("weather", "Paris").text == "sunny in Paris for 1 days"
        assert client.call("weather", '{"city": "Paris", "days": 2}').text == "sunny in Paris for 2 days"
    finally:
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(WITHIN) == 0
        assert agent.stderr and b"connected" in agent.stderr.read()


def test_streaming(server: Server) -> None:
    bot = server.agent("streamer")
    seen = threading.Semaphore(0)

    @bot.message
    async def chat(text: str, ctx: Context) -> AsyncIterator[str]:
        await ctx.reasoning("let me think")
        for word in text.split():
            yield word.upper() + " "
            await asyncio.to_thread(seen.acquire, timeout=WITHIN)  # it arrives before the answer ends

    async def check() -> None:
        events = []
        async with server.async_client() as client:
            async for event in client.stream("streamer", "one two three"):
                events.append(event)
                if event.delta:
                    seen.release()
        assert "".join(e.reasoning for e in events) == "let me think"
        assert [e.delta for e in events if e.delta] == ["ONE ", "TWO ", "THREE "]
        assert events[-1].done and events[-1].done.text == "ONE TWO THREE "

    with server.serving(bot):
        run(check())
        seen.release(2)
        with server.client() as client:
            assert "".join(e.delta for e in client.stream("streamer", "by threads")) == "BY THREADS "


def test_sync_generator_and_conversation(server: Server, client: SyncClient) -> None:
    bot = server.agent("counter")

    @bot.message
    def chat(message: Message, ctx: SyncContext) -> Iterator[str]:
        before = [m for m in ctx.history() if m.from_agent]
        count = before[-1].memory + 1 if before else 1
        ctx.remember(count)
        yield f"{message.text}: "
        yield str(count)

    with server.serving(bot):
        talk = client.create_conversation("counter", "counting")
        replies: list[str] = []
        for word in ("a", "b", "c"):
            asked = client.say("counter", talk.conversation_id, word)
            for update in client.watch_conversation("counter", talk.conversation_id):
                if not update.delta and update.message.in_reply_to == asked:
                    replies.append(update.message.body)
                    break
        assert replies == ["a: 1", "b: 2", "c: 3"]
        said = [m.body for m in client.messages("counter", talk.conversation_id)]
        assert said == ["a", "a: 1", "b", "b: 2", "c", "c: 3"]
        assert talk.conversation_id in [c.conversation_id for c in client.conversations("counter")]
        client.delete_conversation("counter", talk.conversation_id)
        with pytest.raises(Error):
            client.say("counter", talk.conversation_id, "gone")


@dataclass
class Weather:
    city: str
    degrees: float


def test_results(server: Server, client: SyncClient) -> None:
    bot = server.agent("results")

    @bot.tool(read_only=True)
    async def weather(city: str) -> Weather:
        return Weather(city, 21.5)

    @bot.tool
    def picture() -> list[Any]:
        return ["look:", Image(b"\x89PNG")]

    @bot.tool
    def numbers(many: int) -> list[int]:
        return list(range(many))

    @bot.tool
    def breaks(how: str) -> str:
        if how == "crash":
            return server.dev["nothing"]
        raise ValueError("the disk is full")

    @bot.resource("note://{name}", mime_type="text/plain")
    def note(name: str) -> str:
        return f"about {name}"

    @bot.prompt
    def greet(who: str) -> str:
        return f"Say hello to {who}."

    @bot.complete
    def complete(value: str) -> list[str]:
        return [value + "a"]

    with server.serving(bot):
        url, key = client.agent("results").mcp_url, server.dev["user_key"]
        made = client.call_tool("results", "weather", {"city": "Rome"})
        assert made.structured == {"city": "Rome", "degrees": 21.5}
        assert json.loads(made.text) == made.structured
        tools = {t["name"]: t for t in rpc(url, key, "tools/list", {})["tools"]}
        assert tools["weather"]["outputSchema"]["required"] == ["city", "degrees"]
        assert tools["weather"]["annotations"]["readOnlyHint"] is True
        assert [c["type"] for c in client.call_tool("results", "picture").content] == ["text", "image"]
        assert client.call_tool("results", "numbers", {"many": 3}).text == "[0,1,2]"
        for how, text in {"crash": "the agent crashed over this message", "fail": "the disk is full"}.items():
            broken = client.call_tool("results", "breaks", {"how": how})
            assert broken.is_error and text in broken.text
        with pytest.raises(Error) as refused:
            client.call_tool("results", "weather", {"city": 7})
        assert refused.value.code == "invalid_param"
        read = rpc(url, key, "resources/read", {"uri": "note://bees"})["contents"][0]
        assert (read["text"], read["mimeType"]) == ("about bees", "text/plain")
        got = rpc(url, key, "prompts/get", {"name": "greet", "arguments": {"who": "Ada"}})
        assert got["messages"][0]["content"]["text"] == "Say hello to Ada."
        ref = {"type": "ref/prompt", "name": "greet"}
        completed = rpc(url, key, "completion/complete", {"ref": ref, "argument": {"name": "who", "value": "Ad"}})
        assert completed["completion"]["values"] == ["Ada"]


def test_cancel(server: Server, client: SyncClient) -> None:
    bot = server.agent("patient")
    begun, cancelled = threading.Semaphore(0), threading.Semaphore(0)

    @bot.message
    async def chat(text: str, ctx: Context) -> str:
        begun.release()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.release()
            raise
        return "never"

    with server.serving(bot):
        task = client.create_task("patient", "take your time")
        assert begun.acquire(timeout=WITHIN)
        client.cancel_task("patient", task.task_id, "enough")
        assert cancelled.acquire(timeout=WITHIN)
        assert client.wait_for_task("patient", task.task_id).status == "canceled"
        late = client.create_task("patient", "hurry", deadline=1)
        assert cancelled.acquire(timeout=WITHIN)  # by the deadline
        assert client.wait_for_task("patient", late.task_id).status == "timeout"


def test_cancel_of_a_thread(server: Server, client: SyncClient) -> None:
    bot = server.agent("threaded")
    begun, cancelled = threading.Event(), threading.Event()

    @bot.message
    def chat(text: str, ctx: SyncContext) -> str:
        begun.set()
        try:
            while True:
                ctx.progress(1, 2, "still at it")
                time.sleep(0.01)
        except Cancelled:
            cancelled.set()
            raise

    with server.serving(bot):
        task = client.create_task("threaded", "take your time")
        assert begun.wait(WITHIN)
        client.cancel_task("threaded", task.task_id)
        assert cancelled.wait(WITHIN)
        assert client.wait_for_task("threaded", task.task_id).status == "canceled"


def test_elicit(server: Server, client: SyncClient) -> None:
    """A person is asked in mid-call, by an MCP client that can."""
    bot = server.agent("curious")

    @bot.tool
    async def order(item: str, ctx: Context) -> str:
        schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
        said = await ctx.elicit(f"How many {item}?", schema)
        return f"{said.content['count']} {item}" if said.accepted else "nothing"

    with server.serving(bot):
        url, key = client.agent("curious").mcp_url, server.dev["user_key"]
        session, opened = _mcp_session(url, key, {"elicitation": {}})
        assert opened
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "order", "arguments": {"item": "hives"}}}
        for message in _mcp_stream(url, key, session, call):
            if message.get("method") == "elicitation/create":
                assert message["params"]["message"] == "How many hives?"
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"action": "accept", "content": {"count": 3}}}
                _mcp_post(url, key, session, answer)
            elif message.get("id") == 7:
                assert message["result"]["content"][0]["text"] == "3 hives"
                break
        else:
            pytest.fail("no answer came")
        # A caller that cannot be asked is told what it lacks.
        unable = client.call_tool("curious", "order", {"item": "hives"})
        assert unable.is_error and "cannot be asked" in unable.text


def _mcp_headers(key: str, session: str = "") -> dict[str, str]:
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    return {**headers, "Mcp-Session-Id": session} if session else headers


def _mcp_post(url: str, key: str, session: str, message: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(message).encode(), _mcp_headers(key, session))
    return urllib.request.urlopen(request, timeout=WITHIN)


def _mcp_session(url: str, key: str, capabilities: dict[str, Any]) -> tuple[str, bool]:
    params = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}}
    with _mcp_post(url, key, "", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}) as answer:
        session = answer.headers.get("Mcp-Session-Id") or ""
        answer.read()
    with _mcp_post(url, key, session, {"jsonrpc": "2.0", "method": "notifications/initialized"}) as answer:
        return session, answer.status < 300


def _mcp_stream(url: str, key: str, session: str, message: Any) -> Iterator[dict[str, Any]]:
    with _mcp_post(url, key, session, message) as answer:
        if "event-stream" not in answer.headers.get("Content-Type", ""):
            yield json.load(answer)
            return
        for line in answer:
            if line.startswith(b"data:") and line[5:].strip():
                yield json.loads(line[5:])


def test_need_input(server: Server, client: SyncClient) -> None:
    """A caller of MCP 2026-07-28 brings the answers along with the next call."""
    bot = server.agent("rounds")

    @bot.tool
    async def order(item: str, ctx: Context) -> str | None:
        if "count" not in ctx.message.input:
            question = Question("elicitation/create", {"message": "How many?", "requestedSchema": {"type": "object"}})
            await ctx.need_input({"count": question}, state="asked")
            return None
        assert ctx.message.state == "asked"
        return f"{ctx.message.input['count']['content']['n']} {item}"

    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "order"}
    params: dict[str, Any] = {"_meta": meta, "name": "order", "arguments": {"item": "hives"}}
    with server.serving(bot):
        url, key = client.agent("rounds").mcp_url, server.dev["user_key"]

        def call(**more: Any) -> Any:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, **more}}
            accept = {"Accept": "application/json, text/event-stream"}
            request = urllib.request.Request(url, json.dumps(body).encode(), {**_mcp_headers(key), **headers, **accept})
            with urllib.request.urlopen(request, timeout=WITHIN) as answer:
                text = answer.read().decode()
            return json.loads(text[text.rfind("data: ") + 6 :] if "data: " in text else text)["result"]

        asked = call()
        assert asked["resultType"] == "input_required"
        assert asked["inputRequests"]["count"]["params"]["message"] == "How many?"
        brought = {"count": {"action": "accept", "content": {"n": 3}}}
        done = call(requestState=asked["requestState"], inputResponses=brought)
        assert done["content"][0]["text"] == "3 hives"


def test_approve(server: Server, client: SyncClient) -> None:
    bot = server.agent("careful")

    @bot.message
    async def chat(text: str, ctx: Context) -> str:
        try:
            await ctx.approve("erase", {"path": text})
        except Denied as no:
            return f"so not: {no}"
        return f"erased {text}"

    with server.serving(bot):
        for path, text in {"a": "erased a", "b": "so not: erase was denied: keep it"}.items():
            task = client.create_task("careful", path)
            waiting = wait_until(lambda: [a for a in client.approvals() if a.arguments == {"path": path}], "the question")
            assert waiting[0].tool == "erase"
            if path == "a":
                client.approve(waiting[0].id)
            else:
                client.reject(waiting[0].id, "keep it")
            assert client.wait_for_task("careful", task.task_id).text == text


def test_pause(server: Server, client: SyncClient) -> None:
    bot = server.agent("unsure")

    @bot.message
    def chat(text: str, ctx: SyncContext) -> str:
        colour = ctx.input_required("Which colour?", {"choices": ["red", "blue"]})
        ctx.auth_required("May I paint?")
        return f"{text} in {colour.text}"

    with server.serving(bot):
        task = client.create_task("unsure", "a house")
        paused = wait_until(lambda: _task_in(client, task.task_id, "input_required"), "the pause")
        assert paused.question and paused.question["text"] == "Which colour?"
        client.continue_task("unsure", task.task_id, "blue")
        wait_until(lambda: _task_in(client, task.task_id, "auth_required"), "the second pause")
        client.grant_task("unsure", task.task_id)
        assert client.wait_for_task("unsure", task.task_id).text == "a house in blue"
        assert task.task_id in [t.task_id for t in client.tasks(agent="unsure", state="all")]


def _task_in(client: SyncClient, task_id: str, status: str) -> Any:
    task = client.task("unsure", task_id)
    return task if task.status == status else None


def test_files(server: Server, client: SyncClient, tmp_path: Path) -> None:
    bot = server.agent("filer")

    @bot.message
    async def chat(message: Message, ctx: Context) -> str:
        content = await message.attachments[0].download()
        made = tmp_path / "made.bin"
        made.write_bytes(content[::-1])
        await ctx.attach("made.bin", made)
        return message.attachments[0].filename

    content = bytes(range(256)) * 4096  # a megabyte, and odd
    with server.serving(bot):
        sent = client.upload("möwe.bin", content)
        answer = client.call("filer", "turn it round", attachments=[sent])
        assert answer.text == "möwe.bin"
        (file,) = answer.files
        assert client.download(file["file_id"]) == content[::-1]
        task = client.create_task("filer", "once more", attachments=[sent])
        assert client.wait_for_task("filer", task.task_id).text == "möwe.bin"
        talk = client.create_conversation("filer").conversation_id
        asked = client.say("filer", talk, "and here", attachments=[{"file_id": sent.file_id, "filename": "gull.bin"}])
        replies = (u.message for u in client.watch_conversation("filer", talk) if not u.delta)
        assert next(m.body for m in replies if m.in_reply_to == asked) == "gull.bin"
        assert client.file(sent.file_id).size == len(content)


def test_odd_and_big(server: Server, client: SyncClient) -> None:
    bot = server.agent("odd")

    @bot.message
    async def chat(text: str) -> str:
        return text if text != "too much" else "x" * (1 << 20)

    with server.serving(bot):
        for text in ("é 🐝 \u2028 \\ \"quoted\" <b>&amp;", "🐝" * 200_000, "\t tab and\r\nlines "):
            assert client.call("odd", text).text == text
        large = client.call("odd", "too much")
        assert large.is_error and "too large" in large.text


def test_call_another(server: Server, client: SyncClient) -> None:
    asked, asks = server.agent("asked"), server.agent("asks")

    @asked.message
    async def answer(text: str) -> str:
        return f"{text}? Yes."

    @asked.tool
    def forecast(city: str) -> dict[str, str]:
        return {"city": city}

    @asks.message
    async def ask(text: str, ctx: Context) -> str:
        with ctx.step("ask", "tool") as step:
            said = await ctx.call("asked", text)
            step.set("length", len(said))
        with ctx.step("think", "model") as step:
            step.tokens("tiny", 10, 5)
        with pytest.raises(QuestionFailed, match='agent asked has no tool "storms"'):
            await ctx.call("asked", tool="storms")
        return said + await ctx.call("asked", tool="forecast", arguments={"city": "Bern"}, key="the tool")

    with server.serving(asked), server.serving(asks):
        assert client.call("asks", "Sunny").text == 'Sunny? Yes.{"city":"Bern"}'
        calls = post_get(f"{server.dev['rest']}/api/v1/calls?agent_id={client.agent('asks').id}", server.dev["user_key"])
        call = post_get(f"{server.dev['rest']}/api/v1/calls/{calls['calls'][0]['id']}", server.dev["user_key"])
        assert [(s["name"], s.get("kind")) for s in call["steps"]] == [("ask", "tool"), ("think", "model")]
        assert call["steps"][0]["attributes"] == {"length": "11"}
        assert call["steps"][1]["input_tokens"] == 10


def post_get(url: str, key: str) -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=WITHIN) as answer:
        return json.load(answer)["data"]


def test_errors_of_the_client(server: Server) -> None:
    async def check() -> None:
        async with Client(server.dev["rest"], "oag_wrong") as client:
            with pytest.raises(Error) as refused:
                await client.agents()
            assert refused.value.code == "invalid_token"
        async with server.async_client() as client:
            with pytest.raises(Error, match='no agent is called "nobody"'):
                await client.call("nobody", "hi")

    run(check())
