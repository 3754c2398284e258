"""The key pair of an agent, and what the gateways that it joined call it.

It lives in a file that only its user can read. Processes that serve the same agent share it, also
those that use another SDK.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from .errors import SetupError
from .signing import Key


class Identity:
    def __init__(self, path: Path, key: Key, instances: dict[str, str]) -> None:
        self.path = path
        self.key = key
        self._instances = instances  # gateway -> instance id

    @classmethod
    def open(cls, path: Path) -> Identity:
        """Read the file, or make it with a new key."""
        try:
            return cls._read(path)
        except FileNotFoundError:
            pass
        made = cls(path, Key.generate(), {})
        try:
            made._write(os.link)  # fails when another process was faster
        except FileExistsError:
            return cls._read(path)
        return made

    @classmethod
    def _read(cls, path: Path) -> Identity:
        try:
            content = json.loads(path.read_bytes())
            seed = base64.b64decode(content["private_key"], validate=True)
            instances = dict(content.get("instances") or {})
            return cls(path, Key(seed), instances)
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
            raise SetupError(f"{path} is not an agent's identity; move it away and a new one is made") from None

    def instance(self, gateway: str) -> str:
        """What the gateway calls this identity; empty = not joined."""
        return self._instances.get(gateway, "")

    def joined(self, gateway: str, instance: str) -> None:
        self._instances[gateway] = instance
        self._write(os.replace)

    def forget(self, gateway: str) -> None:
        self._instances.pop(gateway, None)

    def _write(self, place: Callable[[str, Path], None]) -> None:
        """Put the file in place as a whole."""
        content = {"private_key": base64.b64encode(self.key.seed).decode(), "instances": self._instances}
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, made = tempfile.mkstemp(prefix=".identity-", dir=self.path.parent)  # with mode 0600
        except OSError as err:
            raise SetupError(f"write the identity; set `identity` to a file that can be written: {err}") from err
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(content, file, indent=2)
            place(made, self.path)
        finally:
            Path(made).unlink(missing_ok=True)
