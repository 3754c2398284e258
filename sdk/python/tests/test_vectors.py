"""Signatures with known keys and clocks: byte for byte what the other SDKs make."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from stage import SPEC

from beeos import verify_webhook
from beeos.signing import Key, authorization, new_id, signed_text

SIGNATURES = json.loads((SPEC / "signatures.json").read_text())
WEBHOOKS = json.loads((SPEC / "webhooks.json").read_text())


@pytest.mark.parametrize("vector", SIGNATURES["vectors"], ids=lambda v: v["name"])
def test_signature(vector: dict[str, Any]) -> None:
    key = Key(bytes.fromhex(SIGNATURES["seed"]))
    assert base64.b64encode(key.public).decode() == SIGNATURES["public_key"]
    method, path, body = vector["method"], vector["path"], vector["body"].encode()
    at, nonce = vector["time"], vector["nonce"]
    assert signed_text(method, path, body, at, nonce).decode() == vector["text"]
    assert authorization(key, vector["key_id"], method, path, body, at=at, nonce=nonce) == vector["authorization"]


@pytest.mark.parametrize("vector", WEBHOOKS["vectors"], ids=lambda v: v["name"])
def test_webhook(vector: dict[str, Any]) -> None:
    good = verify_webhook(vector["secret"], vector["headers"], vector["body"].encode(), now=vector["now"])
    assert good is vector["good"]


@pytest.mark.parametrize("kept", ["X-BeeOS-Signature", "webhook-signature"])
def test_webhook_with_one_signature(kept: str) -> None:
    vector = WEBHOOKS["vectors"][2]
    headers = {n: v for n, v in vector["headers"].items() if n == kept or "signature" not in n.lower()}
    assert verify_webhook(vector["secret"], headers, vector["body"].encode(), now=vector["now"])


def test_ids_rise() -> None:
    ids = [new_id() for _ in range(5000)]
    assert ids == sorted(set(ids))
    assert all(len(i) == 36 and i[14] == "7" and i[19] in "89ab" for i in ids)
