"""Webhooks of tasks, as a receiver of one's own gets them from a real server."""

from __future__ import annotations

import http.server
import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from conftest import WITHIN, Server, wait_until

from beeos import SyncClient, SyncContext, verify_webhook

SECRET = "0123456789abcdef"


@dataclass
class Received:
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


class Receiver:
    """A server that keeps what it is sent."""

    def __init__(self, url: str, received: queue.Queue[Received]) -> None:
        self.url = url
        self._received = received

    def next(self, status: str) -> Received:
        """The next delivery that tells of this status; all are signed."""
        while True:
            got = self._received.get(timeout=WITHIN)
            assert verify_webhook(SECRET, got.headers, got.body)
            assert not verify_webhook(SECRET, got.headers, got.body + b" ")
            assert not verify_webhook("fedcba9876543210", got.headers, got.body)
            if got.event["status"] == status:
                return got


@contextmanager
def receiving() -> Iterator[Receiver]:
    received: queue.Queue[Received] = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.put(Received({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        serving = threading.Thread(target=httpd.serve_forever, daemon=True)
        serving.start()
        try:
            yield Receiver(f"http://127.0.0.1:{httpd.server_port}/hook", received)
        finally:
            httpd.shutdown()
            serving.join(WITHIN)


def test_webhook(server: Server, client: SyncClient) -> None:
    """A task tells a receiver how it goes, once more when it is asked to, and no more when it is told to stop."""
    bot = server.agent("teller")

    @bot.message
    def chat(text: str, ctx: SyncContext) -> str:
        return f"{text}: {ctx.input_required('Which one?').text}"

    with server.serving(bot), receiving() as receiver:
        task = client.create_task("teller", "choose").task_id
        hook = client.add_webhook("teller", task, receiver.url, secret=SECRET)
        assert hook.has_secret and hook.task_id == task
        assert [w.webhook_id for w in client.webhooks("teller", task)] == [hook.webhook_id]
        assert receiver.next("input_required").event["final"] is False
        client.continue_task("teller", task, "this")
        told = receiver.next("completed")
        assert told.event["final"] is True and told.event["task_id"] == task

        def last() -> Any:  # what came of a delivery is noted after we have answered it
            newest = client.deliveries("teller", task, hook.webhook_id)[0]
            return newest if newest.status == "succeeded" else None

        delivered = wait_until(last, "the last delivery")
        assert delivered.last_response_status == 204 and len(delivered.attempts) == 1
        client.redeliver("teller", task, hook.webhook_id, delivered.delivery_id)
        again = receiver.next("completed")
        assert again.headers["webhook-id"] == told.headers["webhook-id"]
        assert len(client.deliveries("teller", task, hook.webhook_id, limit=1)) == 1
        client.remove_webhook("teller", task, hook.webhook_id)
        assert client.webhooks("teller", task) == []
