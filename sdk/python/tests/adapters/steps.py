"""Where agents of these tests serve, and what the owner sees of their calls."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from conftest import WITHIN, Server

from beeos import SyncClient


def place(server: Server, name: str) -> dict[str, Any]:
    return {"gateway": server.dev["agents"], "key": server.dev["user_key"], "identity": server.config / f"{name}.json"}


def steps_of_last_call(server: Server, client: SyncClient, name: str) -> list[dict[str, Any]]:
    base, key = server.dev["rest"], server.dev["user_key"]
    calls = get(f"{base}/api/v1/calls?agent_id={client.agent(name).id}", key)["calls"]
    found: list[dict[str, Any]] = get(f"{base}/api/v1/calls/{calls[0]['id']}", key)["steps"]
    return found


def get(url: str, key: str) -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=WITHIN) as answer:
        return json.load(answer)["data"]
