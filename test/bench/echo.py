"""The agent of the benchmark sdks, in Python, under the name that it is given."""

import sys

from beeos import Agent

bot = Agent(sys.argv[1], on_connect=lambda id: print("connected", id, flush=True))


@bot.tool
async def echo(text: str) -> str:
    """Says it back."""
    return f"you said: {text}"


bot.run()
