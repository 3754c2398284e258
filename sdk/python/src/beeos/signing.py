"""Signatures of an instance, and its ids."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


class Key:
    """An Ed25519 key pair."""

    def __init__(self, seed: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.seed = seed

    @classmethod
    def generate(cls) -> Key:
        private = Ed25519PrivateKey.generate()
        return cls(private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))

    @property
    def public(self) -> bytes:
        return self._private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, text: bytes) -> bytes:
        return self._private.sign(text)


def signed_text(method: str, path: str, body: bytes, at: int, nonce: str) -> bytes:
    """What a signature covers."""
    digest = hashlib.sha256(body).hexdigest()
    return f"{method}\n{path}\n{digest}\n{at}\n{nonce}".encode()


def authorization(
    key: Key, instance: str, method: str, path: str, body: bytes, *, at: int | None = None, nonce: str | None = None
) -> str:
    """The Authorization header of one request."""
    at = int(time.time()) if at is None else at
    nonce = secrets.token_hex(16) if nonce is None else nonce
    signature = key.sign(signed_text(method, path, body, at, nonce))
    return f"Ed25519 {instance}:{at}:{nonce}:{base64.b64encode(signature).decode()}"


_last_tick = 0
_tick_lock = threading.Lock()


def new_id() -> str:
    """A UUIDv7. Those of one process rise, so that a list by id is in the order of making."""
    global _last_tick
    now = time.time_ns()
    tick = (now // 1_000_000) << 12 | (now % 1_000_000) * 4096 // 1_000_000
    with _tick_lock:
        tick = _last_tick = max(tick, _last_tick + 1)
    low = secrets.randbits(62) | 0b10 << 62
    high = tick >> 12 << 16 | 0x7000 | tick & 0xFFF
    digits = f"{high:016x}{low:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
