"""What an adapter keeps with its answers, for the agent's own instances to read.

Callers can read what is remembered with an answer, and the record of a turn has what tools returned. It is sealed by
a key that all instances of the agent can make of the one that they sign with, and nobody else.
"""

from __future__ import annotations

import base64
import binascii
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE = 12  # bytes


class Seal:
    def __init__(self, seed: bytes) -> None:
        self._box = AESGCM(HKDF(SHA256(), 32, None, b"beeos records of adapters").derive(seed))

    def close(self, record: bytes, place: str) -> str:
        """Seal a record. It can be opened in this place alone."""
        nonce = os.urandom(_NONCE)
        return base64.b64encode(nonce + self._box.encrypt(nonce, record, place.encode())).decode()

    def open(self, sealed: str, place: str) -> bytes | None:
        """The record; None if somebody else made it, or for another place."""
        try:
            raw = base64.b64decode(sealed, validate=True)
            return self._box.decrypt(raw[:_NONCE], raw[_NONCE:], place.encode())
        except (InvalidTag, ValueError, binascii.Error):
            return None
