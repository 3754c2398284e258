"""serve() without any framework: what it recognises, functions, and what the adapters share."""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from conftest import Server, run, wait_until

import beeos
from beeos import Agent, Context, Message, Refuse, StoredMessage, SyncClient, adapt
from beeos import adapters as known
from beeos.adapters.asking import ask_person, find_objection, read_arguments
from beeos.adapters.conversation import MAX_KEPT, MAX_PICTURE, MAX_SAID, Conversations, Said, _said_between, read_shown, read_words
from beeos.adapters.inputs import offer_inputs, read_inputs
from beeos.adapters.sealing import Seal
from beeos.adapters.telling import Telling, to_plain


def look_alike(module: str, name: str) -> Any:
    """An object of a class that calls itself so, without the framework."""
    return type(f"My{name}", (type(name, (), {"__module__": module}),), {})()


@pytest.mark.parametrize(
    ("module", "name", "adapter"),
    [
        ("langgraph.pregel.main", "Pregel", "langgraph"),
        ("langgraph.graph.state", "StateGraph", "langgraph"),
        ("pydantic_ai.agent.abstract", "AbstractAgent", "pydantic_ai"),
        ("agents.agent", "Agent", "openai_agents"),
        ("fastmcp.server.server", "FastMCP", "fastmcp"),
        ("google.adk.agents.base_agent", "BaseAgent", "google_adk"),
        ("google.adk.apps.app", "App", "google_adk"),
        ("workflows.workflow", "Workflow", "llama_index"),
        ("crewai.crew", "Crew", "crewai"),
    ],
)
def test_recognises(module: str, name: str, adapter: str) -> None:
    """By the class, also by one that it is derived from, and without importing anything."""
    before = set(sys.modules)
    assert known._adapter_of(look_alike(module, name)) == adapter
    assert set(sys.modules) == before


def test_does_not_take_one_for_another() -> None:
    """The name of a package is not enough: anybody may have a package that is called agents."""
    for module, name in (("agents.helpers", "Agent"), ("mine.fastmcp.server", "FastMCP"), ("workflowsx", "Workflow")):
        with pytest.raises(TypeError, match="cannot be served; give a LangGraph graph, .*, or a function"):
            adapt(look_alike(module, name))
    for thing in ("text", 7, str, Agent):
        with pytest.raises(TypeError, match="cannot be served"):
            adapt(thing)


def test_a_framework_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crewai", None)
    with pytest.raises(ImportError, match=r"pip install 'beeos\[crewai\]'"):
        adapt(look_alike("crewai.crew", "Crew"))


def test_hands_on_to_the_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[Any] = []

    def adapt_it(x: Any, name: str, options: dict[str, Any], settings: dict[str, Any]) -> Agent:
        got.append((x, name, options, settings))
        return Agent(name, **settings)

    module = cast(Any, types.ModuleType("beeos.adapters.crewai"))
    module.adapt = adapt_it
    monkeypatch.setitem(sys.modules, "beeos.adapters.crewai", module)
    served: list[Agent] = []
    monkeypatch.setattr(Agent, "run", lambda agent: served.append(agent))
    crew = look_alike("crewai.crew", "Crew")
    beeos.serve(crew, "team", options={"verbose": True}, version="2")
    assert got == [(crew, "team", {"verbose": True}, {"version": "2"})] and served[0].name == "team"
    bot = Agent("bot")
    assert adapt(bot) is bot


# Functions.


def test_kinds_of_functions() -> None:
    def forecast(city: str, days: int = 1) -> str:
        """The forecast for a city."""
        return city

    def echo_it(text: str) -> str:
        return text

    def named(city: str) -> str:
        return city

    def of_message(m: Message) -> str:
        return m.text

    tool = adapt(forecast).definition()
    assert (tool["name"], tool["description"]) == ("forecast", "The forecast for a city.")
    assert tool["skills"][0]["inputSchema"]["required"] == ["city"]
    assert [s["name"] for s in adapt(named).definition()["skills"]] == ["named"]
    for chat in (echo_it, of_message, lambda message: message.text):
        assert "skills" not in adapt(chat, "chat").definition()
    assert adapt(echo_it).name == "echo-it"
    with pytest.raises(TypeError, match="no options"):
        adapt(forecast, options={"x": 1})


def test_function_with_history(server: Server, client: SyncClient) -> None:
    """It knows what was said before, also in another process."""

    async def chat(text: str, history: list[dict[str, str]], ctx: Context) -> AsyncIterator[str]:
        yield f"{text} after "
        yield ",".join(f"{said['role'][0]}:{said['content']}" for said in history) or "nothing"

    place: dict[str, Any] = {"gateway": server.dev["agents"], "key": server.dev["user_key"]}
    place["identity"] = server.config / "recaller.json"
    with server.serving(adapt(chat, "recaller", **place)):
        first = client.call("recaller", "one")
        assert first.text == "one after nothing"
    with server.serving(adapt(chat, "recaller", **place)):
        second = client.call("recaller", "two", context_id=first.context_id)
        assert second.text == "two after u:one,a:one after nothing"


# What adapters share, with something that is like a framework.


class Engine:
    """It says, asks and does what it is told, as a framework would."""

    def __init__(self) -> None:
        self.talks: Conversations[list[str]] = Conversations()

    async def answer(self, message: Message, ctx: Context) -> None:
        past = await self.talks.read_past(ctx)
        record = [*(past.kept or []), *(f"{said.role}:{said.text}" for said in past.said), f"user:{message.text}"]
        telling = Telling(ctx)
        telling.begin("m", "tiny", "model")
        if step := telling.end("m"):
            step.tokens("tiny", 3, 4)
        for piece in ("Let me see.", ""):
            await telling.say(piece)
        telling.break_off()
        if message.text.startswith("erase"):
            telling.begin("t", "erase", "tool")
            no = await find_objection(ctx, "erase", f'{{"path": "{message.text[6:]}"}}')
            telling.end("t", no)
            final = no or "erased"
        elif message.text == "ask":
            final = f"{await ask_person(ctx, {'question': 'Which?', 'choices': [1, 2]})}"
        else:
            final = f"{len(record)} said, of which kept {len(past.kept or [])}"
        await telling.say(final)
        self.talks.keep(ctx, [*record, f"assistant:{final}"])
        await telling.finish(final)


def serve_engine(server: Server) -> Agent:
    agent = server.agent("engine")
    agent.message(Engine().answer)
    return agent


def test_shared_conversation(server: Server, client: SyncClient) -> None:
    """A process keeps its own record; another one has what was said."""
    with server.serving(serve_engine(server)):
        first = client.call("engine", "a")
        assert first.text == "Let me see.\n\n1 said, of which kept 0"
        assert client.call("engine", "b", context_id=first.context_id).text.endswith("3 said, of which kept 2")
    with server.serving(serve_engine(server)):
        assert client.call("engine", "c", context_id=first.context_id).text.endswith("5 said, of which kept 0")
        assert client.call("engine", "d", context_id=first.context_id).text.endswith("7 said, of which kept 6")


def test_shared_questions_and_steps(server: Server, client: SyncClient) -> None:
    with server.serving(serve_engine(server)):
        task = client.create_task("engine", "erase all")
        (asked,) = wait_until(lambda: [a for a in client.approvals() if a.arguments == {"path": "all"}], "the question")
        client.reject(asked.id, "keep it")
        done = client.wait_for_task("engine", task.task_id)
        assert done.text == "Let me see.\n\nerase was denied: keep it"
        for given, text in ((2, "2"), ("two", "two"), ({"n": 2}, "{'n': 2}")):
            task = client.create_task("engine", "ask")
            question = wait_until(lambda: client.task("engine", task.task_id).question, "the question")
            assert question and question["text"] == "Which?" and question["payload"]["choices"] == [1, 2]
            client.continue_task("engine", task.task_id, given)
            assert client.wait_for_task("engine", task.task_id).text.endswith(text)


def test_sealed_turns(server: Server, client: SyncClient) -> None:
    """What a turn has added is kept with its answer: other processes of the agent read it, callers do not."""
    seen: list[Any] = []

    async def answer(message: Message, ctx: Context) -> None:
        talks: Conversations[str] = Conversations("engine")  # that of a process which has just begun
        seen[:] = [(s.role, s.text, s.turn) for s in (await talks.read_past(ctx)).said]
        kept = [m.memory for m in await ctx.history() if m.from_agent]
        assert "secret" not in str(kept) and len(kept) == message.text.count("!")
        large = "x" * MAX_KEPT if message.text == "large!!" else "secret"
        talks.keep(ctx, "", [{"user": message.text}, {"tool": large}])
        await ctx.send("done")

    agent = server.agent("sealer")
    agent.message(answer)
    with server.serving(agent):
        first = client.call("sealer", "small")
        client.call("sealer", "large!", context_id=first.context_id)
        client.call("sealer", "large!!", context_id=first.context_id)
        small = ("", "", [{"user": "small"}, {"tool": "secret"}])
        assert seen == [small, ("", "", [{"user": "large!"}, {"tool": "secret"}])]
        client.call("sealer", "last!!!", context_id=first.context_id)
        assert seen[2:] == [("user", "large!!", None), ("assistant", "done", None)]


def test_seal() -> None:
    """A record is opened by the key that closed it, where it was put."""
    seal, other = Seal(b"a" * 32), Seal(b"b" * 32)
    closed = seal.close(b"what a tool said", "channel/message")
    assert seal.open(closed, "channel/message") == b"what a tool said"
    assert Seal(b"a" * 32).open(closed, "channel/message") == b"what a tool said"
    for sealed, place, by in ((closed, "channel/other", seal), (closed, "channel/message", other), ("no", "x", seal), ("é", "x", seal)):
        assert by.open(sealed, place) is None
    assert seal.close(b"twice", "x") != seal.close(b"twice", "x")


def test_what_was_said() -> None:
    """Turns after those that are kept; no talk about approvals; the newest, if there is much."""

    def said(offset: int, kind: str, body: str, turn: str = "", **payload: Any) -> StoredMessage:
        return StoredMessage(str(offset), "ch", offset, kind, body, "", in_reply_to=turn, payload=payload)

    log = [
        said(1, "chat_message", "one"),
        said(2, "agent_reply", "1", "1"),
        said(3, "chat_message", "two"),
        said(4, "agent.input_required", "may I?", "3", approval={"id": "x"}),
        said(5, "user.continue", "approved", "3", decision={}),
        said(6, "agent.input_required", "which?", "3"),
        said(7, "user.continue", "this", "3"),
        said(8, "agent_reply_error", "failed", "3"),
        said(9, "agent_reply", "late", "1"),
    ]
    assert _said_between(log, 1, 10) == [Said("user", "two", "3"), Said("assistant", "which?", "6"), Said("user", "this", "7")]
    assert [s.text for s in _said_between(log, 0, 10)] == ["one", "1", "two", "which?", "this", "late"]
    assert [s.text for s in _said_between(log, 0, 3)] == ["one", "1"]
    many = [said(n, "chat_message", str(n)) for n in range(1, 500)]
    assert [s.text for s in _said_between(many, 0, 500)] == [str(n) for n in range(500 - MAX_SAID, 500)]


def test_inputs() -> None:
    schema = {"properties": {"topic": {"type": "string"}, "size": {"type": "integer"}}, "required": ["topic"]}
    assert read_inputs('{"topic": "bees", "size": 2}', schema) == {"topic": "bees", "size": 2}
    assert read_inputs("bees {and} flowers", schema) == {"topic": "bees {and} flowers"}
    assert read_inputs("{bees", schema) == {"topic": "{bees"}
    with pytest.raises(Refuse, match="a JSON object with: topic, size"):
        read_inputs("bees", {**schema, "required": ["topic", "size"]})
    agent = Agent("x")
    offer_inputs(agent, "x", "Runs.", schema, lambda inputs, ctx: asyncio.sleep(0))
    assert agent.definition()["skills"][0]["inputSchema"] == schema


def test_plain_values() -> None:
    class Model:
        def model_dump(self, mode: str) -> Any:
            return {"a": 1}

    assert to_plain([Model(), {2: (3,)}, object]) == [{"a": 1}, {"2": [3]}, "<class 'object'>"]
    assert read_arguments('{"a": 1}') == {"a": 1} and read_arguments("[1]") == {"arguments": [1]}
    assert read_arguments("") == {} and read_arguments(None) == {} and read_arguments("{") == {"arguments": "{"}


def test_words_with_files() -> None:
    class File:
        filename, content_type, size = "a.txt", "text/plain; charset=utf-8", 5

        async def download(self) -> bytes:
            return b"hello"

    class Picture(File):
        filename, content_type, size = "b.png", "image/png", 7

    message = Message("1", "look", attachments=cast(Any, [File(), Picture()]))
    words = "look\n\nThe file 'a.txt':\nhello"
    assert run(read_words(message)) == f"{words}\n\nThe file 'b.png' (image/png, 7 bytes) came along."
    shown, (picture,) = run(read_shown(message))
    assert (shown, picture.url) == (words, "data:image/png;base64,aGVsbG8=")
    large = Picture()
    large.size = MAX_PICTURE + 1
    assert run(read_shown(Message("1", "", attachments=cast(Any, [large])))) == (
        f"The file 'b.png' (image/png, {large.size} bytes) came along.",
        [],
    )
