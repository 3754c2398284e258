"""The fixture of the transcripts, once async and once not. sdk/spec/README.md says what it does."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from beeos import Agent, Context, Question, SyncContext

if TYPE_CHECKING:
    from stage import Stage

SCHEMA = {
    "type": "object",
    "properties": {"do": {"type": "array", "items": {"type": "object"}}},
    "required": ["do"],
}
Script = list[dict[str, Any]]


def async_fixture(stage: Stage, **settings: Any) -> Agent:
    agent = _agent(settings)

    @agent.message
    async def chat(text: str, ctx: Context) -> str:
        await ctx.delta("you said: ")
        return text

    @agent.tool(schema=SCHEMA)
    async def script(do: Script, ctx: Context) -> None:
        """Does what it is told."""
        await AsyncActor(stage, ctx).perform(do)

    return agent


def sync_fixture(stage: Stage, **settings: Any) -> Agent:
    agent = _agent(settings)

    @agent.message
    def chat(text: str, ctx: SyncContext) -> str:
        ctx.delta("you said: ")
        return text

    @agent.tool(schema=SCHEMA)
    def script(do: Script, ctx: SyncContext) -> None:
        """Does what it is told."""
        SyncActor(stage, ctx).perform(do)

    return agent


def _agent(settings: dict[str, Any]) -> Agent:
    agent = Agent("fixture", description="Plays transcripts.", **settings)

    @agent.resource("note://{name}", mime_type="text/plain")
    def note(uri: str) -> str:
        """A note."""
        return f"the note at {uri}"

    @agent.prompt
    def greet(who: str) -> str:
        """Greets somebody."""
        return f"Say hello to {who}."

    @agent.complete
    def complete(value: str) -> list[str]:
        return [value + "a", value + "b"]

    return agent


def _questions(given: dict[str, Any]) -> dict[str, Question]:
    return {key: Question(q["method"], q.get("params")) for key, q in given.items()}


def _describe(ctx: Context | SyncContext) -> dict[str, Any]:
    m = ctx.message
    all_of_it = {
        "id": m.id,
        "channel": m.channel,
        "offset": m.offset,
        "from": m.sender,
        "text": m.text,
        "protocol": m.protocol,
        "attempt": m.attempt,
        "metadata": m.metadata,
        "can": [c for c in ("elicitation", "sampling", "roots", "progress") if c in m.can],
        "state": m.state,
        "input": m.input,
        "traceparent": m.trace.parent,
    }
    return {name: value for name, value in all_of_it.items() if value}


def _crash() -> None:
    nothing: dict[str, str] = {}
    nothing["as it was told"]


def _raise(text: str) -> None:
    raise RuntimeError(text)


class AsyncActor:
    """Does the operations of a script."""

    def __init__(self, stage: Stage, ctx: Context) -> None:
        self.stage = stage
        self.ctx = ctx
        self.last: Any = None

    async def perform(self, script: Script) -> None:
        for operation in script:
            ((name, value),) = operation.items()
            if value == "$last":
                value = self.last
            if name == "step":
                await self._step(value)
            elif name == "wait_for":
                gate = self.stage.gate(value)
                gate.reached.set()
                await gate.released.wait()
            elif name == "download":
                self.last = (await self.ctx.message.attachments[value].download()).decode()
            elif name in ADDS:
                ADDS[name](self.ctx, value)
            else:
                made = await SAYS[name](self.ctx, value)
                self.last = KEEPS[name](made) if name in KEEPS else self.last
            if name == "message":
                self.last = _describe(self.ctx)

    async def _step(self, value: dict[str, Any]) -> None:
        with self.ctx.step(value["name"], value.get("kind", "")) as step:
            for name, said in value.get("set", {}).items():
                step.set(name, said)
            if "tokens" in value:
                step.tokens(*value["tokens"])
            await self.perform(value.get("do", []))
            if "error" in value:
                step.end(value["error"])


class SyncActor:
    def __init__(self, stage: Stage, ctx: SyncContext) -> None:
        self.stage = stage
        self.ctx = ctx
        self.last: Any = None

    def perform(self, script: Script) -> None:
        for operation in script:
            ((name, value),) = operation.items()
            if value == "$last":
                value = self.last
            if name == "step":
                self._step(value)
            elif name == "wait_for":
                gate = self.stage.gate(value)
                self.ctx._loop.call_soon_threadsafe(gate.reached.set)
                self.ctx._wait(_wait(gate.released))
            elif name == "download":
                self.last = self.ctx.download(value).decode()
            elif name in ADDS:
                ADDS[name](self.ctx, value)
            else:
                made = SAYS[name](self.ctx, value)
                self.last = KEEPS[name](made) if name in KEEPS else self.last
            if name == "message":
                self.last = _describe(self.ctx)

    def _step(self, value: dict[str, Any]) -> None:
        with self.ctx.step(value["name"], value.get("kind", "")) as step:
            for name, said in value.get("set", {}).items():
                step.set(name, said)
            if "tokens" in value:
                step.tokens(*value["tokens"])
            self.perform(value.get("do", []))
            if "error" in value:
                step.end(value["error"])


async def _wait(event: Any) -> None:
    await event.wait()


# What only adds to the answer; the context is of either face.
ADDS: dict[str, Callable[[Any, Any], Any]] = {
    "text": lambda ctx, v: ctx.text(v),
    "image": lambda ctx, v: ctx.image(base64.b64decode(v[1]), v[0]),
    "audio": lambda ctx, v: ctx.audio(base64.b64decode(v[1]), v[0]),
    "resource": lambda ctx, v: ctx.resource(v[0], v[2], v[1]),
    "resource_link": lambda ctx, v: ctx.link(*v),
    "structured": lambda ctx, v: ctx.structured(v),
    "result": lambda ctx, v: ctx.result(v),
    "meta": lambda ctx, v: ctx.meta(v),
    "remember": lambda ctx, v: ctx.remember(v),
    "direct": lambda ctx, v: ctx.direct(),
    "usage": lambda ctx, v: ctx.usage(*v),
    "message": lambda ctx, v: None,
    "raise": lambda ctx, v: _raise(v),
    "crash": lambda ctx, v: _crash(),
}

# What talks to others, and is awaited by the async face.
SAYS: dict[str, Callable[[Any, Any], Any]] = {
    "delta": lambda ctx, v: ctx.delta(v),
    "reasoning": lambda ctx, v: ctx.reasoning(v),
    "progress": lambda ctx, v: ctx.progress(*v),
    "log": lambda ctx, v: ctx.log(v[2], v[0], v[1]),
    "background": lambda ctx, v: ctx.background(),
    "part": lambda ctx, v: ctx.part(v),
    "send": lambda ctx, v: ctx.send(v),
    "correct": lambda ctx, v: ctx.correct(v),
    "fail": lambda ctx, v: ctx.fail(v),
    "refuse": lambda ctx, v: ctx.refuse(v),
    "busy": lambda ctx, v: ctx.busy(v),
    "fault": lambda ctx, v: ctx.fault(*v),
    "elicit": lambda ctx, v: ctx.elicit(*v),
    "sample": lambda ctx, v: ctx.sample(v),
    "roots": lambda ctx, v: ctx.roots(),
    "ask_all": lambda ctx, v: ctx.ask_all(_questions(v)),
    "call": lambda ctx, v: ctx.call(*v),
    "call_tool": lambda ctx, v: ctx.call(**v),
    "approve": lambda ctx, v: ctx.approve(*v),
    "gate": lambda ctx, v: ctx.approve(**v),
    "input_required": lambda ctx, v: ctx.input_required(*v),
    "auth_required": lambda ctx, v: ctx.auth_required(*v),
    "need_input": lambda ctx, v: ctx.need_input(_questions(v[0]), v[1]),
    "history": lambda ctx, v: ctx.history(),
    "attach": lambda ctx, v: ctx.attach(v[0], v[2], v[1]),
}

# What of their results is the last value.
KEEPS: dict[str, Callable[[Any], Any]] = {
    "elicit": lambda made: {"action": made.action, "content": made.content},
    "sample": lambda made: made,
    "roots": lambda made: made,
    "ask_all": lambda made: made,
    "call": lambda made: made,
    "call_tool": lambda made: made,
    "input_required": lambda made: {"text": made.text, "payload": made.payload},
    "auth_required": lambda made: {"text": made.text, "payload": made.payload},
    "history": lambda made: [m.body for m in made],
    "attach": lambda made: made.file_id,
}
