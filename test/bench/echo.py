"""The agent of the benchmark sdks, in Python."""

from beeos import Agent

bot = Agent("bench-python", on_connect=lambda id: print("connected", id, flush=True))


@bot.tool
async def echo(text: str) -> str:
    """Says it back."""
    return f"you said: {text}"


bot.run()
