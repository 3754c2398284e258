"""The agent that beeos agent check tries, in Python: a tool for each thing that an agent can do.

sdk/spec/check.md says what they are.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from beeos import Agent, Context, Denied, Message, Question

bot = Agent("check", description="Does what beeos agent check asks for.", redelivery="always")

ME = str(os.getpid())
begun: Counter[str] = Counter()
more = asyncio.Condition()

Tool = Callable[[str, Context], Awaitable[str] | AsyncIterator[str]]
tools: dict[str, Tool] = {}


async def note(*what: str) -> None:
    """Count what this process has begun."""
    async with more:
        begun.update(what)
        more.notify_all()


async def until(what: str, n: int) -> None:
    """Wait until this process has begun something so often."""
    async with more:
        await more.wait_for(lambda: begun[what] >= n)


def told(function: Tool) -> Tool:
    """Make a function a tool that can also be called by saying its name."""
    name = function.__name__.rstrip("_")
    tools[name] = function

    async def tool(ctx: Context, text: str = "") -> None:
        await run(name, text, ctx)

    bot.tool(name=name)(tool)
    return function


async def run(name: str, text: str, ctx: Context) -> None:
    await note(name, f"{name} {text}")
    answer = tools[name](text, ctx)
    if isinstance(answer, AsyncIterator):
        async for piece in answer:
            await ctx.delta(piece)
    else:
        await ctx.send(await answer)


@bot.message
async def chat(message: Message, ctx: Context) -> None:
    name, _, text = message.text.partition(" ")
    if name in tools:
        return await run(name, text, ctx)
    await ctx.delta("you said: ")
    await ctx.send(message.text)


@bot.tool
async def add(a: int, b: int) -> str:
    """Adds two numbers."""
    await note("add")
    return str(a + b)


@bot.tool
async def echo(**arguments: Any) -> dict[str, Any]:
    """Returns its arguments."""
    return arguments


@told
async def who(text: str, ctx: Context) -> str:
    return ME


@told
async def count(text: str, ctx: Context) -> str:
    return str(begun[text])


@told
async def tally(text: str, ctx: Context) -> str:
    return f"{text} {begun['tally ' + text]}"


@told
async def stream(text: str, ctx: Context) -> AsyncIterator[str]:
    for i in range(int(text)):
        yield f"{i + 1} "
        await asyncio.sleep(0.05)


@told
async def think(text: str, ctx: Context) -> str:
    await ctx.reasoning(f"thinking about {text}")
    return f"thought about {text}"


@told
async def progress(text: str, ctx: Context) -> str:
    await ctx.progress(1, 2, "half way")
    return "done"


@told
async def log(text: str, ctx: Context) -> str:
    await ctx.log("it is getting late", "warning")
    return "done"


@told
async def wait(text: str, ctx: Context) -> AsyncIterator[str]:
    yield "waiting"
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        begun["cancelled"] += 1
        raise


@told
async def elicit(text: str, ctx: Context) -> str:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    answer = await ctx.elicit("What is your name?", schema)
    return f"hello {answer.content['name'] if answer.accepted else 'nobody'}"


@told
async def approve(text: str, ctx: Context) -> str:
    try:
        await ctx.approve("write_file", {"path": text})
    except Denied as no:
        return f"not saved: {no.reason}"
    return f"saved {text}"


@told
async def pause(text: str, ctx: Context) -> AsyncIterator[str]:
    yield "one moment. "
    said = await ctx.input_required("Which one?")
    yield f"you chose {said.text}"


@told
async def confirm(text: str, ctx: Context) -> str:
    message = ctx.message
    if not message.state:
        schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
        sure = Question("elicitation/create", {"message": "Sure?", "requestedSchema": schema})
        await ctx.need_input({"sure": sure}, "asked")
        return ""
    if not message.input["sure"]["content"]["ok"]:
        raise ValueError("not confirmed")
    return f"confirmed after {message.state}"


@told
async def files(text: str, ctx: Context) -> str:
    read = "\n".join([(await file.download()).decode() for file in ctx.message.attachments])
    await ctx.attach("upper.txt", read.upper(), "text/plain")
    return read


@told
async def meet(text: str, ctx: Context) -> str:
    await until(f"meet {text}", int(text))
    return f"met {text}"


@told
async def steps(text: str, ctx: Context) -> str:
    with ctx.step("search", "tool") as search:
        search.set("found", "3")
        with ctx.step("ask", "model") as ask:
            ask.tokens("check-model", 7, 5)
    return "done"


@told
async def usage(text: str, ctx: Context) -> str:
    ctx.usage("check-usage", 11, 13, 0.5)
    return "done"


@told
async def fail(text: str, ctx: Context) -> str:
    raise ValueError(text)


@told
async def refuse(text: str, ctx: Context) -> str:
    await ctx.refuse(text)
    return ""


@told
async def hold(text: str, ctx: Context) -> AsyncIterator[str]:
    yield "held "
    await until(f"release {text}", 1)
    yield f"attempt {ctx.message.attempt}"


@told
async def release(text: str, ctx: Context) -> str:
    return "released"


@told
async def slow(text: str, ctx: Context) -> AsyncIterator[str]:
    yield f"{ME} "
    await asyncio.sleep(int(text) / 1000)
    yield f"attempt {ctx.message.attempt}"


if __name__ == "__main__":
    bot.run()
