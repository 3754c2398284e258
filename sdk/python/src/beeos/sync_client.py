"""The client for programs that are not async."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from .client import Client
from .waiting import forbid_loop, iterates, waits

T = TypeVar("T")


class SyncClient:
    """Client without await.

    It may be used from several threads.

        with SyncClient() as client:
            print(client.call("weather", "How is it in Rome?").text)
    """

    def __init__(self, url: str = "", key: str = "", *, retries: int = 0) -> None:
        self._async = Client(url, key, retries=retries)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="beeos-client", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return self._async.url

    def __enter__(self) -> SyncClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections; ``with`` does it by itself."""
        if self._loop.is_closed():
            return
        self._wait(self._async.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            forbid_loop()
        except RuntimeError:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # Ctrl-C, for one
            future.cancel()
            raise

    agents = waits(Client.agents)
    agent = waits(Client.agent)
    call = waits(Client.call)
    stream = iterates(Client.stream)
    call_tool = waits(Client.call_tool)
    create_task = waits(Client.create_task)
    task = waits(Client.task)
    tasks = iterates(Client.tasks)
    watch_task = iterates(Client.watch_task)
    wait_for_task = waits(Client.wait_for_task)
    cancel_task = waits(Client.cancel_task)
    continue_task = waits(Client.continue_task)
    grant_task = waits(Client.grant_task)
    create_conversation = waits(Client.create_conversation)
    conversations = iterates(Client.conversations)
    say = waits(Client.say)
    messages = iterates(Client.messages)
    watch_conversation = iterates(Client.watch_conversation)
    delete_conversation = waits(Client.delete_conversation)
    upload = waits(Client.upload)
    file = waits(Client.file)
    download = waits(Client.download)
    add_webhook = waits(Client.add_webhook)
    webhooks = waits(Client.webhooks)
    remove_webhook = waits(Client.remove_webhook)
    deliveries = waits(Client.deliveries)
    redeliver = waits(Client.redeliver)
    approvals = waits(Client.approvals)
    approve = waits(Client.approve)
    reject = waits(Client.reject)
