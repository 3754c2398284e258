"""A real server for the tests that want one: BEEOS_BIN, or built from this repository."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from beeos import Agent, Client, SyncClient

T = TypeVar("T")
ROOT = Path(__file__).parents[3]
collect_ignore = [] if os.environ.get("BEEOS_FRAMEWORK") else ["adapters"]  # each in an environment of its own
WITHIN = 30.0


def wait_until(reached: Callable[[], T], what: str) -> T:
    """Wait for something that nobody tells us of."""
    until = time.monotonic() + WITHIN
    while time.monotonic() < until:
        if found := reached():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen in time")


class Server:
    """A ``beeos dev`` in a folder of its own. It can be killed and comes back at the same ports."""

    def __init__(self, binary: str, folder: Path) -> None:
        self.data = folder / "data"
        self.config = folder / "config"  # of the agents: where they keep their keys
        self._binary = binary
        self._folder = folder
        names = ("MCP", "A2A", "OPENAPI", "AGENT_GATEWAY", "WEB")
        self._env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "BEEOS_DATA": str(self.data),
            "BEEOS_DURABILITY": "os",
            "BEEOS_RATE_LIMIT": "1000000000",
            "BEEOS_ADMIN_ADDR": "off",
            "LLM_PROVIDER": "scripted",
            **{f"{name}_ADDR": f"127.0.0.1:{port}" for name, port in zip(names, _free_ports(len(names)))},
        }
        self.start()

    def start(self) -> None:
        with open(self._folder / "server.log", "ab") as log:
            self._process = subprocess.Popen([self._binary, "dev"], env=self._env, cwd=self._folder, stdout=log, stderr=log)
        wait_until(self._answers, "the start of the server")

    def _answers(self) -> bool:
        assert self._process.poll() is None, (self._folder / "server.log").read_text()[-2000:]
        rest = self._env["OPENAPI_ADDR"].split(":")
        try:
            self.dev: dict[str, str] = json.loads((self.data / "dev.json").read_text())
            socket.create_connection((rest[0], int(rest[1])), 1).close()
            with SyncClient(self.dev["rest"], self.dev["user_key"]) as client:
                return any(agent.online for agent in client.agents())
        except (OSError, ValueError, KeyError):
            return False
        except Exception:
            return False  # it is up, and not yet ready

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait()

    def client(self) -> SyncClient:
        return SyncClient(self.dev["rest"], self.dev["user_key"])

    def async_client(self) -> Client:
        return Client(self.dev["rest"], self.dev["user_key"])

    def environment(self) -> dict[str, str]:
        """What an agent of another process needs to find it."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder / "home"),
            "XDG_CONFIG_HOME": str(self.config),
            "BEEOS_DATA": str(self.data),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "PYTHONUNBUFFERED": "1",
        }

    def agent(self, name: str, **settings: Any) -> Agent:
        """An agent that will find this server."""
        place = {"gateway": self.dev["agents"], "key": self.dev["user_key"], "identity": self.config / f"{name}.json"}
        return Agent(name, **{**place, **settings})

    @contextmanager
    def serving(self, agent: Agent) -> Iterator[Agent]:
        """Serve an agent beside the test."""
        connected = threading.Event()
        agent.on_connect = lambda _: connected.set()
        loop = asyncio.new_event_loop()
        ended: list[BaseException] = []

        def serve() -> None:
            try:
                loop.run_until_complete(agent.serve())
            except BaseException as err:
                ended.append(err)
                connected.set()
            finally:
                loop.run_until_complete(loop.shutdown_asyncgens())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            assert connected.wait(WITHIN), "the agent did not connect"
            if ended:
                raise ended[0]
            yield agent
        finally:
            loop.call_soon_threadsafe(agent.stop)
            thread.join(WITHIN)
            assert not thread.is_alive(), "the agent does not stop"

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> str:
    if given := os.environ.get("BEEOS_BIN"):
        return given
    go = shutil.which("go")
    if not go or not (ROOT / "cmd" / "beeos").is_dir():
        pytest.fail("these tests need a server: set BEEOS_BIN to a beeos, or run them in its repository with Go")
    built = str(tmp_path_factory.mktemp("bin") / "beeos")
    subprocess.run([go, "build", "-trimpath", "-o", built, "./cmd/beeos"], cwd=ROOT, check=True)
    return built


@pytest.fixture(scope="session")
def server(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(binary, tmp_path_factory.mktemp("server"))
    yield running
    running.close()


@pytest.fixture
def mortal_server(binary: str, tmp_path: Path) -> Iterator[Server]:
    """A server of a test's own, which it may kill."""
    running = Server(binary, tmp_path)
    yield running
    running.close()


@pytest.fixture(scope="session")
def client(server: Server) -> Iterator[SyncClient]:
    with server.client() as client:
        yield client


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run async test code, but not for ever."""

    async def bounded() -> T:
        return await asyncio.wait_for(work, 60)

    return asyncio.run(bounded())
