"""Deliveries of webhooks, as a receiver checks them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

TOLERANCE = 300  # seconds; every attempt is signed afresh


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None) -> bool:
    """Whether a delivery comes from who has the secret, and not more than five minutes ago.

    body is what came, before anything parsed it. Either signature is good: X-BeeOS-Signature, or that
    of Standard Webhooks.
    """
    now = time.time() if now is None else now
    named = {name.lower(): value for name, value in headers.items()}
    return _ours(secret, named.get("x-beeos-signature", ""), body, now) or _standard(secret, named, body, now)


def _ours(secret: str, header: str, body: bytes, now: float) -> bool:
    first, *rest = header.split(",")
    stamp = first.removeprefix("t=")
    if not _recent(stamp, now):
        return False
    want = "v1=" + _mac(secret.encode(), stamp.encode() + b"." + body).hex()
    return any(hmac.compare_digest(want.encode(), sent.encode()) for sent in rest)


def _standard(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    stamp = headers.get("webhook-timestamp", "")
    if not _recent(stamp, now):
        return False
    signed = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + body
    want = "v1," + base64.b64encode(_mac(_standard_key(secret), signed)).decode()
    sent = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(want.encode(), one.encode()) for one in sent)


def _recent(stamp: str, now: float) -> bool:
    return stamp.isascii() and stamp.isdecimal() and abs(now - int(stamp)) <= TOLERANCE


def _standard_key(secret: str) -> bytes:
    """A secret that begins with whsec_ is base64; any other is its own bytes."""
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).digest()
