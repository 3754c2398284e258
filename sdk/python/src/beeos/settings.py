"""Where an agent serves, and what it may join with.

Arguments come first, then the environment, then the file that ``beeos dev`` leaves for the agents
on its machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .errors import SetupError

DEFAULT_GATEWAY = "http://localhost:8083"


@dataclass(frozen=True)
class Credential:
    """One way to join."""

    token: str = ""
    key: str = ""
    source: str = ""  # for people
    local: bool = False  # from dev.json, which may be rewritten any moment


@dataclass(frozen=True)
class Settings:
    gateway: str
    identity: Path
    key: str
    token: str
    dev: Path  # dev.json

    def credential(self) -> Credential:
        """What to join with.

        dev.json is read each time: it is rewritten when the data folder was wiped. Its key goes to
        its own gateway and to no other.
        """
        if self.token:
            return Credential(token=self.token, source="the join token")
        if self.key:
            return Credential(key=self.key, source="the user key")
        dev = read_dev(self.dev)
        if dev.get("user_key") and _same_gateway(str(dev.get("agents", "")), self.gateway):
            return Credential(key=str(dev["user_key"]), source=str(self.dev), local=True)
        raise SetupError(
            f"nothing to join {self.gateway} with: run `beeos dev` here (it writes {self.dev}), or set BEEOS_KEY "
            "to a user key (oag_…), or BEEOS_JOIN_TOKEN to a one-time token of `beeos agent token`"
        )


def find_settings(
    name: str, *, gateway: str = "", key: str = "", token: str = "", identity: str | os.PathLike[str] | None = None
) -> Settings:
    """The settings of the agent of that name."""
    env = os.environ
    dev = dev_path()
    gateway = gateway or env.get("AGENT_GATEWAY_URL", "") or str(read_dev(dev).get("agents") or DEFAULT_GATEWAY)
    gateway = gateway.rstrip("/")
    try:
        url = urlsplit(gateway)
        usable = url.scheme in ("http", "https") and bool(url.netloc) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SetupError(
            f"agent {name}: the gateway {gateway!r} is not an http:// or https:// address; check AGENT_GATEWAY_URL"
        )
    return Settings(
        gateway=gateway,
        identity=Path(identity) if identity else config_folder() / "beeos" / "agents" / f"{file_name(name)}.json",
        key=key or env.get("BEEOS_KEY", ""),
        token=token or env.get("BEEOS_JOIN_TOKEN", ""),
        dev=dev,
    )


def dev_path() -> Path:
    return Path(os.environ.get("BEEOS_DATA") or "beeos-data") / "dev.json"


def read_dev(path: Path) -> dict[str, Any]:
    """What ``beeos dev`` wrote; empty on any other machine."""
    try:
        dev = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return dev if isinstance(dev, dict) else {}


def config_folder() -> Path:
    """The user's configuration folder; the same that Go's os.UserConfigDir finds."""
    if sys.platform == "win32":
        folder = os.environ.get("AppData", "")
    elif sys.platform == "darwin":
        folder = os.environ.get("HOME", "") and os.path.join(os.environ["HOME"], "Library", "Application Support")
    else:
        folder = os.environ.get("XDG_CONFIG_HOME", "")
        if not folder and os.environ.get("HOME"):
            folder = os.path.join(os.environ["HOME"], ".config")
    if not os.path.isabs(folder):
        raise SetupError("nowhere to keep the agent's identity; set `identity` to a file")
    return Path(folder)


def file_name(name: str) -> str:
    """A file name for an agent's name. Two names never share one, for then agents would share an identity."""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", name)
    return name if safe == name else f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _same_gateway(a: str, b: str) -> bool:
    """Compares addresses; the names of this machine are one."""

    def local(url: str) -> str:
        return url.rstrip("/").replace("://127.0.0.1", "://localhost").replace("://[::1]", "://localhost")

    return local(a) == local(b)
