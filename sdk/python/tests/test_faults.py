"""What must survive: a gateway that is killed, an instance that dies, one that is told to stop."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from conftest import WITHIN, Server, wait_until

from beeos import Agent, Client, Context, Error, Message, SyncClient

KILLS = int(os.environ.get("BEEOS_KILLS", "2"))
CALLERS = int(os.environ.get("BEEOS_CALLERS", "16"))


def test_gateway_is_killed_under_load(mortal_server: Server) -> None:
    """Every task that was accepted is answered, once, and by the one handler that began it."""
    server = mortal_server
    runs: Counter[str] = Counter()
    bot = server.agent("busy", concurrency=64, redelivery="always")

    @bot.message
    async def chat(message: Message, ctx: Context) -> str:
        runs[message.id] += 1
        await ctx.delta("done: ")
        await asyncio.sleep(random.random() / 5)
        return message.text

    asked: list[str] = []
    wrong: list[str] = []
    over = asyncio.Event()

    async def call_forever(client: Client, number: int) -> None:
        count = 0
        while not over.is_set():
            text = f"{number}-{(count := count + 1)}"
            try:
                task = await client.create_task("busy", text)
            except Error as err:
                assert err.code == "agent_offline", err  # the server is back, its agent not yet
                await asyncio.sleep(0.05)
                continue
            asked.append(text)
            task = await client.wait_for_task("busy", task.task_id)
            if (task.status, task.text) != ("completed", f"done: {text}"):
                wrong.append(f"{text}: {task.status}, {task.text}, {task.error}")

    async def check() -> None:
        async with Client(server.dev["rest"], server.dev["user_key"], retries=30) as client:
            callers = [asyncio.ensure_future(call_forever(client, n)) for n in range(CALLERS)]
            for _ in range(KILLS):
                await asyncio.sleep(0.3 + random.random() / 2)
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
            await asyncio.sleep(0.3)
            over.set()
            await asyncio.wait_for(asyncio.gather(*callers), 60)

    with server.serving(bot):
        asyncio.run(check())
    twice = {message: count for message, count in runs.items() if count != 1}
    print(f"{KILLS} kills, {len(asked)} tasks, {len(runs)} runs")
    assert wrong == []
    assert twice == {}
    assert len(runs) == len(asked) > CALLERS


WORKER = '''
import asyncio, logging, sys
from beeos import Agent, Context, Message

bot = Agent("mortal")

@bot.message
async def chat(message: Message, ctx: Context) -> str:
    print("begun", message.attempt, flush=True)
    if message.text == "die" and not message.redelivered:
        await asyncio.sleep(600)
    await asyncio.sleep(float(sys.argv[1]))
    return f"attempt {message.attempt}"

bot.run()
'''


def start_worker(server: Server, folder: Path, client: SyncClient, slowness: float = 0) -> subprocess.Popen[str]:
    (folder / "worker.py").write_text(WORKER)
    command = [sys.executable, str(folder / "worker.py"), str(slowness)]
    worker = subprocess.Popen(
        command, env=server.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert worker.stderr
    for line in worker.stderr:
        if "connected" in line:
            return worker
    raise AssertionError("the worker did not connect")


def test_redelivery(server: Server, client: SyncClient, tmp_path: Path) -> None:
    """An instance that dies over a message gives it to the next one, which is told so."""
    first = start_worker(server, tmp_path, client)
    second = None
    try:
        task = client.create_task("mortal", "die")
        assert first.stdout and first.stdout.readline() == "begun 1\n"
        second = start_worker(server, tmp_path, client)
        first.kill()
        assert client.wait_for_task("mortal", task.task_id).text == "attempt 2"
    finally:
        for one in (first, second):
            if one:
                one.kill()
                one.wait()


def test_drain(server: Server, client: SyncClient, tmp_path: Path) -> None:
    """An instance that is told to stop finishes its answer; what comes meanwhile goes to another."""
    first = start_worker(server, tmp_path, client, slowness=1)
    second = None
    try:
        task = client.create_task("mortal", "the last one")
        assert first.stdout and first.stdout.readline() == "begun 1\n"
        second = start_worker(server, tmp_path, client)
        first.send_signal(signal.SIGTERM)
        answers = [client.call("mortal", "the next one").text for _ in range(5)]
        assert answers == ["attempt 1"] * 5
        assert client.wait_for_task("mortal", task.task_id).text == "attempt 1"
        assert first.wait(WITHIN) == 0
    finally:
        for one in (first, second):
            if one:
                one.kill()
                one.wait()


def test_instances_share_the_work(server: Server, client: SyncClient) -> None:
    """Two processes with one identity are instances of one agent."""
    ran: Counter[int] = Counter()

    def instance(number: int) -> Agent:
        bot = server.agent("twins", identity=server.config / "shared.json")

        @bot.message
        async def chat(text: str) -> str:
            ran[number] += 1
            await asyncio.sleep(0.05)
            return text

        return bot

    with server.serving(instance(1)), server.serving(instance(2)):
        tasks = [client.create_task("twins", str(n)) for n in range(40)]
        assert [client.wait_for_task("twins", t.task_id).text for t in tasks] == [str(n) for n in range(40)]
    assert ran[1] + ran[2] == 40
    assert ran[1] and ran[2]


def test_busy_reject(server: Server, client: SyncClient) -> None:
    bot = server.agent("single", delivery_mode="busy_reject")
    begun, go = threading.Event(), threading.Event()

    @bot.message
    def chat(text: str) -> str:
        begun.set()
        go.wait(WITHIN)
        return text

    with server.serving(bot):
        task = client.create_task("single", "first")
        assert begun.wait(WITHIN)
        with pytest.raises(Error) as busy:
            client.call("single", "second")
        assert busy.value.code == "conflict"
        go.set()
        assert client.wait_for_task("single", task.task_id).text == "first"


def test_queue_is_one_lane(server: Server, client: SyncClient) -> None:
    bot = server.agent("queue", delivery_mode="queue", lane="agent")
    running, most = 0, 0

    @bot.message
    async def chat(text: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return text

    with server.serving(bot):
        tasks = [client.create_task("queue", str(n)) for n in range(5)]
        assert [client.wait_for_task("queue", t.task_id).text for t in tasks] == ["0", "1", "2", "3", "4"]
    assert most == 1


def test_redeclare(server: Server, client: SyncClient) -> None:
    """An agent that grows a tool while it serves says so."""
    bot = server.agent("grows")

    @bot.tool
    async def grow() -> str:
        @bot.tool
        def new() -> str:
            return "new"

        await bot.redeclare()
        return "grown"

    with server.serving(bot):
        assert client.call_tool("grows", "grow").text == "grown"
        wait_until(lambda: len(client.agent("grows").skills) == 2, "the new tool")
        assert client.call_tool("grows", "new").text == "new"
