"""The sync face of what is async: the same methods, which wait.

Both faces come from one implementation: ``delta = waits(Context.delta)`` has the parameters of the
original, and a type checker knows them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
A = TypeVar("A", covariant=True)


class Face(Protocol[A]):
    """What has a sync face: something async, and a way to wait for it."""

    @property
    def _async(self) -> A: ...

    def _wait(self, work: Coroutine[Any, Any, T]) -> T: ...


class waits(Generic[S, P, T]):
    """A method that waits for the async method of the same name."""

    def __init__(self, method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, face: None, owner: type) -> waits[S, P, T]: ...
    @overload
    def __get__(self, face: Face[S], owner: type) -> Callable[P, T]: ...
    def __get__(self, face: Face[S] | None, owner: type) -> waits[S, P, T] | Callable[P, T]:
        if face is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return face._wait(self._method(face._async, *args, **kwargs))

        return call


class iterates(Generic[S, P, T]):
    """A method that iterates over what the async method of the same name yields."""

    def __init__(self, method: Callable[Concatenate[S, P], AsyncIterator[T]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, face: None, owner: type) -> iterates[S, P, T]: ...
    @overload
    def __get__(self, face: Face[S], owner: type) -> Callable[P, Iterator[T]]: ...
    def __get__(self, face: Face[S] | None, owner: type) -> iterates[S, P, T] | Callable[P, Iterator[T]]:
        if face is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            return _iterate(face, self._method(face._async, *args, **kwargs))

        return call


def _iterate(face: Face[Any], items: AsyncIterator[T]) -> Iterator[T]:
    try:
        while found := face._wait(_next(items)):
            yield found[0]
    finally:
        close: Callable[[], Awaitable[None]] | None = getattr(items, "aclose", None)
        if close is not None:
            face._wait(_run(close))


async def _next(items: AsyncIterator[T]) -> tuple[T] | None:
    async for item in items:
        return (item,)
    return None


async def _run(call: Callable[[], Awaitable[None]]) -> None:
    await call()


def forbid_loop() -> None:
    """Waiting in a thread that runs an event loop would wait forever for itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("this waits; in async code use the async face, and await")
