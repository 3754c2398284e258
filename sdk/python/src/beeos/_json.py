"""JSON as it travels: UTF-8, nothing escaped without need, no NaN. orjson is used if it is there."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["dumps", "loads", "plain"]


def plain(value: Any) -> Any:
    """What JSON can carry of a value that it does not know: models, dataclasses, enums, sets, dates."""
    import base64
    import dataclasses
    import datetime
    import decimal
    import enum
    import os
    import uuid

    if hasattr(value, "model_dump"):  # pydantic
        return value.model_dump(mode="json", by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (uuid.UUID, decimal.Decimal, os.PathLike)):
        return str(value)
    raise ValueError(f"JSON cannot carry a value of type {type(value).__name__}")


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)


def _dumps(value: Any) -> bytes:
    text = _encoder.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a character, as in file names that are not UTF-8
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _loads(data: bytes | str) -> Any:
    # json.loads looks for the encoding of bytes first, which takes a third of its time.
    return json.loads(data.decode() if isinstance(data, bytes) else data)


try:
    import orjson
except ImportError:
    dumps, loads = _dumps, _loads
else:

    def dumps(value: Any) -> bytes:
        """The value as compact JSON."""
        try:
            return orjson.dumps(value)  # type: ignore[no-any-return,unused-ignore]
        except TypeError:  # something that it does not know, or that the other writes otherwise
            return _dumps(value)

    def loads(data: bytes | str) -> Any:
        """The value that the JSON stands for."""
        return orjson.loads(data)
