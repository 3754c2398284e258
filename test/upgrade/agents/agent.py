"""The agent of the upgrade tests in Python, with nothing that its first SDK does not have."""

import asyncio
import os

from beeos import Agent, Context


class Loud(Agent):
    def connected(self, agent_id: str) -> None:
        super().connected(agent_id)
        print("connected", agent_id, flush=True)


bot = Loud("echo")


@bot.tool
def shout(text: str) -> str:
    """Says it louder."""
    print("begin tool 1", text, flush=True)
    return text.upper()


@bot.message
async def answer(text: str, ctx: Context) -> str:
    print("begin message 1", text, flush=True)
    order, _, rest = text.partition(" ")
    if order == "ask":
        said = await ctx.input_required("which one?")
        return "asked: " + said.text
    if order == "write":
        await ctx.approve("write_file", {"text": rest})
        return "wrote: " + rest
    if order == "file":
        await ctx.attach("note.txt", rest.encode(), "text/plain")
        return "attached"
    if order == "stream":
        for i in range(int(rest.split(" ")[0])):
            await ctx.delta(f"{i} ")
            await asyncio.sleep(0.01)
        return "end"
    return "echo: " + text


if __name__ == "__main__":
    assert os.environ["AGENT_GATEWAY_URL"]
    bot.run()
