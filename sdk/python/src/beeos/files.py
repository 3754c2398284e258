"""Files that came with a message, and files that go with an answer."""

from __future__ import annotations

import io
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Union

from ._http import Pool
from ._version import __version__
from .errors import Unreachable

Content = Union[bytes, str, "os.PathLike[str]", BinaryIO]


@dataclass(frozen=True)
class Attachment:
    """A file. Its name is for people: it is one line without folders, but nothing else is sure about it."""

    file_id: str
    filename: str
    content_type: str
    size: int
    url: str  # lets whoever has it download the file

    @classmethod
    def parse(cls, found: dict[str, Any]) -> Attachment:
        return cls(
            file_id=str(found.get("file_id", "")),
            filename=str(found.get("filename", "")),
            content_type=str(found.get("content_type", "")),
            size=int(found.get("size", 0)),
            url=str(found.get("url", "")),
        )

    async def chunks(self) -> AsyncIterator[bytes]:
        """Download the file as it is read; fails when it does not have the size that it should."""
        pool = Pool(f"beeos-python/{__version__}")
        left = self.size
        try:
            answer = await pool.request("GET", self.url, timeout=30)
            try:
                if answer.status != 200:
                    raise Unreachable(f"the server answered HTTP {answer.status}")
                async for piece in answer.chunks():
                    left -= len(piece)
                    if left < 0:
                        raise Unreachable("the file is longer than the message says")
                    yield piece
            finally:
                answer.close()
            if left > 0:
                raise Unreachable("the file is shorter than the message says")
        except Unreachable as err:
            raise Unreachable(f"download {self.filename!r}: {err}") from err
        finally:
            pool.close()

    async def download(self) -> bytes:
        """The whole file. Look at ``size`` first: chunks needs less memory."""
        return b"".join([piece async for piece in self.chunks()])


def open_content(content: Content) -> tuple[BinaryIO, int]:
    """What a file holds, and how many bytes that is."""
    if isinstance(content, str):
        content = content.encode()
    if isinstance(content, bytes):
        return io.BytesIO(content), len(content)
    if isinstance(content, os.PathLike):
        opened = open(content, "rb")
        return opened, os.fstat(opened.fileno()).st_size
    begin = content.tell()
    size = content.seek(0, io.SEEK_END) - begin
    content.seek(begin)
    return content, size
