"""What an agent offers: tools, resources and prompts, how each is declared and how it is answered."""

from __future__ import annotations

import contextlib
import re
from typing import Any
from urllib.parse import unquote

from . import _json
from .context import Context
from .functions import Arguments, Function, output_schema
from .message import Message
from .results import Document, end_with


def present(**members: Any) -> dict[str, Any]:
    """The members that say something."""
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}


class Tool:
    """One skill of the agent. Callers see it as an MCP tool; the gateway checks the arguments against
    its schema before the agent gets them."""

    def __init__(self, function: Function, name: str, schema: dict[str, Any] | None, hidden: bool, **more: Any) -> None:
        self.name = name or function.name
        self._function = function
        self._arguments = Arguments(function)
        self._declared = present(
            name=self.name,
            inputSchema=schema or self._arguments.schema,
            **{**more, "outputSchema": more.get("outputSchema") or output_schema(function)},
        )
        if function.about:
            self._declared.setdefault("description", function.about)
        if hidden:
            self._declared["exposeAsTool"] = False

    def declared(self) -> dict[str, Any]:
        return self._declared

    async def answer(self, ctx: Context) -> None:
        await self._call(ctx, ctx.message.arguments)

    async def answer_chat(self, ctx: Context) -> bool:
        """Answer somebody who just talks: with the JSON object that they say, or with what they say as
        the one argument that is needed. False: it can be neither."""
        text = ctx.message.text
        given: Any = None
        if text.lstrip().startswith("{"):
            with contextlib.suppress(ValueError):
                given = _json.loads(text)
        needed = [f for f in self._arguments.fields if f.required]
        if not isinstance(given, dict):
            if len(needed) != 1 or needed[0].shape.schema.get("type") != "string":
                return False
            given = {needed[0].name: text}
        await self._call(ctx, given)
        return True

    async def _call(self, ctx: Context, given: dict[str, Any]) -> None:
        arguments = self._arguments.read(given)
        await end_with(ctx, await self._function.run(ctx, **arguments))


class Resource:
    """Something that clients can read: static, or answered by a function."""

    def __init__(self, uri: str, function: Function | None, **more: Any) -> None:
        self.uri = uri
        self._function = function
        self._declared = present(**{"uriTemplate" if "{" in uri else "uri": uri}, **more)
        if function is not None:
            self._declared.setdefault("name", function.name)
            if function.about:
                self._declared.setdefault("description", function.about)
        self._declared.setdefault("name", uri)
        self._pattern = _pattern_of(uri)
        self._wanted = {p.name for p in function.parameters} if function else set()

    def declared(self) -> dict[str, Any]:
        return self._declared

    def matches(self, uri: str) -> bool:
        return self._function is not None and self._pattern.fullmatch(uri) is not None

    async def answer(self, ctx: Context) -> None:
        uri = str(ctx.message.params.get("uri") or "")
        found = self._pattern.fullmatch(uri)
        values = {name: unquote(value) for name, value in (found.groupdict() if found else {}).items()}
        values["uri"] = uri
        assert self._function is not None
        given = {name: value for name, value in values.items() if name in self._wanted}
        made = await self._function.run(ctx, **given)
        if isinstance(made, (str, bytes)):
            made = Document(uri, made, str(self._declared.get("mimeType", "")))
        elif made is not None and not isinstance(made, (Document, list, tuple)):
            made = Document(uri, _json.dumps(made).decode(), self._declared.get("mimeType") or "application/json")
        await end_with(ctx, made)


def _pattern_of(uri: str) -> re.Pattern[str]:
    """What a template of RFC 6570 matches: its expressions match anything."""
    pattern = ""
    for literal, expression in re.findall(r"([^{}]*)(?:\{([^{}]*)\})?", uri):
        pattern += re.escape(literal)
        if expression:
            name = re.sub(r"\W", "", expression.split(",")[0])
            pattern += f"(?P<{name}>.*)" if name.isidentifier() else ".*"
    return re.compile(pattern, re.DOTALL)


class Prompt:
    """A template of messages."""

    def __init__(self, function: Function, name: str, **more: Any) -> None:
        self.name = name or function.name
        self._function = function
        self._fields = Arguments(function).fields
        arguments = [
            present(name=f.name, description=function.described.get(f.name), required=f.required or None)
            for f in self._fields
        ]
        self._declared = present(name=self.name, arguments=arguments, **more)
        if function.about:
            self._declared.setdefault("description", function.about)

    def declared(self) -> dict[str, Any]:
        return self._declared

    async def answer(self, ctx: Context) -> None:
        given = {}
        for field in self._fields:
            if field.name in ctx.message.arguments:
                given[field.name] = _read_argument(field.shape, ctx.message.arguments[field.name])
            elif field.required:
                raise ValueError(f"the prompt needs {field.name}")
        made = await self._function.run(ctx, **given)
        if made is not None:
            messages = made if isinstance(made, list) else [made]
            ctx.result({"messages": [_message_of(m) for m in messages]})
        await end_with(ctx, None)


def _read_argument(shape: Any, text: Any) -> Any:
    """Arguments of prompts are always strings; those that stand for something else are JSON."""
    if isinstance(text, str) and shape.schema.get("type") != "string":
        try:
            text = _json.loads(text)
        except ValueError:
            pass  # then it is what it says, and the shape decides
    return shape.read(text) if shape.read else text


def _message_of(made: Any) -> Any:
    if isinstance(made, str):
        return {"role": "user", "content": {"type": "text", "text": made}}
    return made


class Completion:
    """Suggestions for the arguments of prompts and resource templates.

    The function gets those of ``argument``, ``value``, ``ref`` and ``given`` that it has parameters for.
    """

    MOST = 100

    def __init__(self, function: Function) -> None:
        self._function = function
        self._wanted = {p.name for p in function.parameters}

    async def answer(self, ctx: Context) -> None:
        params = ctx.message.params
        argument, ref = params.get("argument") or {}, params.get("ref") or {}
        values = {
            "argument": argument.get("name", ""),
            "value": argument.get("value", ""),
            "ref": ref.get("name") or ref.get("uri") or "",
            "given": (params.get("context") or {}).get("arguments") or {},
        }
        made = await self._function.run(ctx, **{n: v for n, v in values.items() if n in self._wanted})
        if made is not None:
            found = list(made)
            completion: dict[str, Any] = {"values": found[: self.MOST]}
            if len(found) > self.MOST:
                completion.update(total=len(found), hasMore=True)
            ctx.result({"completion": completion})
        await end_with(ctx, None)


class Chat:
    """Whoever just talks to the agent. The function gets the text, or the Message if it asks for one."""

    def __init__(self, function: Function) -> None:
        self._function = function
        wanted = [function.hints.get(p.name) for p in function.parameters]
        if len(wanted) > 1:
            raise TypeError(f"{function.name}: a message handler takes the text or the Message, and a context")
        self._takes = len(wanted) == 1
        self._takes_message = wanted == [Message] or wanted == [None] and function.parameters[0].name == "message"

    async def answer(self, ctx: Context) -> None:
        given = [ctx.message if self._takes_message else ctx.message.text] if self._takes else []
        await end_with(ctx, await self._function.run(ctx, *given))
