"""Functions of the author's: what they want, and how they are called."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

from .context import Context
from .docstrings import parse_docstring
from .results import add_piece
from .schema import MISSING, Field, Misfit, Schema, Shapes, object_schema, read_fields
from .sync_context import SyncContext

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Function:
    """A handler, async or not, that returns its answer or yields it piece by piece.

    It gets the context through a parameter that is annotated with Context, or SyncContext if it is
    not async; one that is called ``ctx`` needs no annotation.
    """

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        target: Any = getattr(call, "func", call)  # of a functools.partial
        self.name: str = getattr(target, "__name__", type(target).__name__)
        self.about, self.described = parse_docstring(target)
        if not inspect.isroutine(target):
            target = type(target).__call__
        self.is_async = inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target)
        self.yields = inspect.isasyncgenfunction(target) or inspect.isgeneratorfunction(target)
        self.hints = _hints_of(target)
        self.parameters = list(inspect.signature(call).parameters.values())
        self.context = self._find_context()
        self.parameters = [p for p in self.parameters if p.name != self.context]

    def _find_context(self) -> str:
        for parameter in self.parameters:
            hint = self.hints.get(parameter.name)
            if hint is None and parameter.name == "ctx":
                return parameter.name
            if hint not in (Context, SyncContext):
                continue
            if (hint is Context) != self.is_async:
                want = "Context" if self.is_async else "SyncContext"
                kind = "async" if self.is_async else "not async"
                raise TypeError(f"{self.name} is {kind}: its {parameter.name} is a beeos.{want}")
            return parameter.name
        return ""

    async def run(self, ctx: Context, *args: Any, **kwargs: Any) -> Any:
        """Call it and return its answer; what it yields is streamed."""
        if not self.is_async:
            return await self._run_in_thread(ctx, args, kwargs)
        if self.context:
            kwargs[self.context] = ctx
        made = self.call(*args, **kwargs)
        if not self.yields:
            return await made
        async for piece in made:
            await add_piece(ctx, piece)
        return None

    async def _run_in_thread(self, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        sync = SyncContext(ctx, loop)
        if self.context:
            kwargs[self.context] = sync

        def work() -> Any:
            made = self.call(*args, **kwargs)
            return _drain(sync, made) if self.yields else made

        thread = loop.run_in_executor(ctx.agent.threads, contextvars.copy_context().run, work)
        try:
            made = await asyncio.shield(thread)
        except asyncio.CancelledError:
            # A thread cannot be broken off. Its context tells it; what it answers all the same counts.
            await asyncio.wait([thread])
            if thread.cancelled() or thread.exception() is not None:
                raise
            made = thread.result()
        return await made if inspect.isawaitable(made) else made


def _drain(sync: SyncContext, pieces: Iterator[Any]) -> Any:
    """Stream what a generator yields, and return what it returns."""
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            return end.value
        sync._wait(add_piece(sync._async, piece))


def _hints_of(target: Any) -> dict[str, Any]:
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as err:
        text = f"{target.__name__}: {err}, which its type hints name; define it at the top of the module"
        raise TypeError(text) from err


class Arguments:
    """What a function takes, as JSON."""

    def __init__(self, function: Function) -> None:
        shapes = Shapes()
        self._fields: list[Field] = []
        self._more = False
        for parameter in function.parameters:
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                self._more = True
                continue
            if parameter.kind not in _NAMED:
                raise TypeError(f"{function.name}: callers give arguments by name, and {parameter.name} has none")
            shape = shapes.of(function.hints.get(parameter.name, Any))
            shape = shape.described(function.described.get(parameter.name, ""))
            required = parameter.default is inspect.Parameter.empty
            default = MISSING if required or parameter.default is None else parameter.default
            self._fields.append(Field(parameter.name, shape, required, default))
        self.schema: Schema = object_schema(self._fields, self._more)
        if shapes.definitions:
            self.schema["$defs"] = shapes.definitions

    @property
    def fields(self) -> list[Field]:
        return self._fields

    def read(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The function's arguments, each of its type."""
        try:
            return read_fields(self._fields, arguments, self._more)
        except Misfit as err:
            raise ValueError(f"the arguments do not fit: {err}") from err


def output_schema(function: Function) -> Schema | None:
    """The schema of what a function returns, if that is an object of a declared shape."""
    hint = function.hints.get("return")
    if function.yields or not isinstance(hint, type):
        return None
    shapes = Shapes()
    try:
        schema = shapes.of(hint).schema
    except TypeError:
        return None
    if schema.get("type") != "object" or "properties" not in schema:
        return None
    return {**schema, "$defs": shapes.definitions} if shapes.definitions else schema
