"""JSON Schema out of type hints, and values of those types out of JSON.

Both come from one description of a type (a ``Shape``), so that they cannot say different things.
Models of pydantic describe and read themselves.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from . import _json
from .docstrings import parse_docstring

Schema = dict[str, Any]
Read = Callable[[Any], Any]

MISSING: Any = object()


class Misfit(ValueError):
    """A value that does not fit its type; ``path`` says where."""

    def __init__(self, want: str, path: str = "") -> None:
        super().__init__(f"{path}: {want}" if path else want)
        self.want = want
        self.path = path

    def within(self, name: str) -> Misfit:
        return Misfit(self.want, f"{name}.{self.path}" if self.path else name)


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a type looks like in JSON, and how a value of it is read. No ``read``: JSON's own value is it."""

    schema: Schema
    read: Read | None = None

    def described(self, about: str) -> Shape:
        return Shape({**self.schema, "description": about}, self.read) if about else self


@dataclasses.dataclass
class Field:
    """One named value of an object."""

    name: str
    shape: Shape
    required: bool
    default: Any = MISSING


class Shapes:
    """Makes shapes. Types that contain themselves go into ``definitions``."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._open: dict[Any, str] = {}  # types that are being looked at, by the names of their definitions
        self._recursive: set[Any] = set()
        self._readers: dict[Any, Read] = {}

    def of(self, hint: Any) -> Shape:
        """The shape of a type hint."""
        origin = get_origin(hint)
        if origin is Annotated:
            inner, *notes = get_args(hint)
            shape = self.of(inner)
            return Shape({**shape.schema, **_notes_of(notes)}, shape.read)
        if hint in _PLAIN:
            return _PLAIN[hint]
        if hint is None or hint is type(None):
            return Shape({"type": "null"}, _check(lambda v: v is None, "must be null"))
        if origin is Literal:
            return _choice(list(get_args(hint)), {value: value for value in get_args(hint)})
        if origin in (Union, types.UnionType):
            return self._union(get_args(hint))
        if origin is not None:
            return self._container(origin, get_args(hint))
        if isinstance(hint, type):
            return self._class(hint)
        if isinstance(hint, typing.TypeVar):
            return Shape({})
        raise TypeError(f"there is no JSON Schema for {hint!r}; give the tool a schema of its own")

    def _container(self, origin: Any, args: tuple[Any, ...]) -> Shape:
        if getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly"):  # of typing, or of its extensions
            return self.of(args[0])
        if origin is tuple and args and args[-1] is not Ellipsis:
            return self._tuple(args)
        if origin in _SEQUENCES:
            return self._list(_SEQUENCES[origin], self.of(args[0] if args else Any))
        if origin in (dict, collections.abc.Mapping, collections.abc.MutableMapping):
            return self._dict(self.of(args[1] if len(args) > 1 else Any))
        raise TypeError(f"there is no JSON Schema for {origin!r}; give the tool a schema of its own")

    def _class(self, hint: type) -> Shape:
        if hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate"):
            return self._model(hint)
        if issubclass(hint, enum.Enum):
            return _choice([m.value for m in hint], {m.value: m for m in hint})
        if dataclasses.is_dataclass(hint) or is_typeddict(hint):
            return self._object(hint)
        if hint in _SEQUENCES or hint is dict:
            return self._container(hint, ())
        raise TypeError(
            f"there is no JSON Schema for {hint.__name__}; make it a dataclass, or give the tool a schema of its own"
        )

    def _model(self, model: Any) -> Shape:
        schema = _without_titles(model.model_json_schema())
        self.definitions.update(schema.pop("$defs", {}))

        def read(value: Any) -> Any:
            try:
                return model.model_validate(value)
            except ValueError as err:
                problems: list[Any] = getattr(err, "errors", list)()
                if not problems:
                    raise Misfit(str(err)) from err
                where = ".".join(str(at) for at in problems[0]["loc"])
                raise Misfit(problems[0]["msg"], where) from err

        return Shape(schema, read)

    def _object(self, made: Any) -> Shape:
        if made in self._open:
            self._recursive.add(made)
            return Shape({"$ref": f"#/$defs/{self._open[made]}"}, lambda value: self._readers[made](value))
        self._open[made] = made.__name__
        about, described = parse_docstring(made) if made.__dict__.get("__doc__") else ("", {})
        fields = list(self._fields(made))
        for field in fields:
            field.shape = field.shape.described(described.get(field.name, ""))
        schema = object_schema(fields)
        if about and not about.startswith(f"{made.__name__}("):  # the one that dataclass makes says nothing
            schema["description"] = about
        self._readers[made] = read = _read_object(made, fields)
        del self._open[made]
        if made in self._recursive:
            self.definitions[made.__name__] = schema
            schema = {"$ref": f"#/$defs/{made.__name__}"}
        return Shape(schema, read)

    def _fields(self, made: Any) -> collections.abc.Iterator[Field]:
        hints = get_type_hints(made, include_extras=True)
        if is_typeddict(made):
            for name, hint in hints.items():
                yield Field(name, self.of(hint), name in made.__required_keys__)
            return
        for f in dataclasses.fields(made):
            if not f.init:
                continue
            shape = self.of(hints[f.name])
            if f.default is not dataclasses.MISSING:
                yield Field(f.name, shape, False, f.default)
            else:
                yield Field(f.name, shape, f.default_factory is dataclasses.MISSING)

    def _union(self, args: tuple[Any, ...]) -> Shape:
        shapes = [self.of(a) for a in args]
        schema: Schema = {"anyOf": [s.schema for s in shapes]}
        simple = [s.schema.get("type") for s in shapes if list(s.schema) == ["type"]]
        if len(simple) == len(shapes):
            schema = {"type": simple}

        def read(value: Any) -> Any:
            problems: list[Misfit] = []
            for shape in shapes:
                try:
                    return shape.read(value) if shape.read else value
                except Misfit as err:
                    problems.append(err)
            raise max(problems, key=lambda p: len(p.path))  # of the one that fitted best

        return Shape(schema, read)

    def _list(self, make: Callable[[list[Any]], Any], item: Shape) -> Shape:
        def read(value: Any) -> Any:
            if not isinstance(value, list):
                raise Misfit("must be a list")
            if item.read:
                value = [_read_at(str(i), item.read, v) for i, v in enumerate(value)]
            return value if make is list else make(value)

        schema: Schema = {"type": "array", "items": item.schema} if item.schema else {"type": "array"}
        if make in (set, frozenset):
            schema["uniqueItems"] = True
        return Shape(schema, read)

    def _tuple(self, args: tuple[Any, ...]) -> Shape:
        items = [self.of(a) for a in args]

        def read(value: Any) -> Any:
            if not isinstance(value, list) or len(value) != len(items):
                raise Misfit(f"must be a list of {len(items)}")
            return tuple(_read_at(str(i), s.read, v) for i, (s, v) in enumerate(zip(items, value)))

        bounds = {"minItems": len(items), "maxItems": len(items)}
        return Shape({"type": "array", "prefixItems": [s.schema for s in items], **bounds}, read)

    def _dict(self, item: Shape) -> Shape:
        def read(value: Any) -> Any:
            if not isinstance(value, dict):
                raise Misfit("must be an object")
            return {k: _read_at(k, item.read, v) for k, v in value.items()} if item.read else value

        schema: Schema = {"type": "object"}
        if item.schema:
            schema["additionalProperties"] = item.schema
        return Shape(schema, read)


def object_schema(fields: list[Field], more: bool = False) -> Schema:
    """The schema of an object with these fields; ``more``: and others."""
    properties: Schema = {}
    for field in fields:
        schema = dict(field.shape.schema)
        if field.default is not MISSING:
            try:
                schema["default"] = _json.loads(_json.dumps(field.default))
            except (TypeError, ValueError):
                pass  # JSON cannot say it; that there is one is said by what is required
        properties[field.name] = schema
    schema = {"type": "object", "properties": properties}
    if required := [field.name for field in fields if field.required]:
        schema["required"] = required
    if not more:
        schema["additionalProperties"] = False
    return schema


def read_fields(fields: list[Field], value: Any, more: bool = False) -> dict[str, Any]:
    """The fields that a JSON object has, each of its type."""
    if not isinstance(value, dict):
        raise Misfit("must be an object")
    found = dict(value) if more else {}
    known = 0
    for field in fields:
        if field.name in value:
            known += 1
            found[field.name] = _read_at(field.name, field.shape.read, value[field.name])
        elif field.required:
            raise Misfit("is missing", field.name)
    if known < len(value) and not more:
        unknown = next(name for name in value if all(name != f.name for f in fields))
        raise Misfit("is not known", str(unknown))
    return found


def _read_object(made: Any, fields: list[Field]) -> Read:
    def read(value: Any) -> Any:
        found = read_fields(fields, value)
        try:
            return made(**found)
        except ValueError as err:  # of a __post_init__
            raise Misfit(str(err)) from err

    return read


def _read_at(name: str, read: Read | None, value: Any) -> Any:
    if read is None:
        return value
    try:
        return read(value)
    except Misfit as err:
        raise err.within(name) from err


def _choice(values: list[Any], members: dict[Any, Any]) -> Shape:
    schema: Schema = {"enum": values}
    kinds = {type(v) for v in values}
    if len(kinds) == 1 and (kind := _KINDS.get(kinds.pop())):
        schema = {"type": kind, **schema}

    def read(value: Any) -> Any:
        for known, member in members.items():
            if known == value and isinstance(value, bool) == isinstance(known, bool):
                return member
        raise Misfit("must be one of " + ", ".join(repr(v) for v in values))

    return Shape(schema, read)


_CONSTRAINTS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}


def _notes_of(notes: list[Any]) -> Schema:
    """What stands beside a type in Annotated: a description, or limits as annotated-types and pydantic have them."""
    said: Schema = {}
    for note in notes:
        if isinstance(note, str):
            said["description"] = note
            continue
        if getattr(note, "description", None):
            said["description"] = note.description
        for one in (note, *(getattr(note, "metadata", None) or ())):
            for name, word in _CONSTRAINTS.items():
                if getattr(one, name, None) is not None:
                    said[word] = getattr(one, name)
            if isinstance(getattr(one, "pattern", None), str):
                said["pattern"] = one.pattern
    return said


def _without_titles(schema: Any) -> Any:
    """A schema of pydantic's without the titles that repeat the names."""
    if isinstance(schema, list):
        return [_without_titles(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name in ("properties", "$defs") and isinstance(value, dict):
            kept[name] = {n: _without_titles(v) for n, v in value.items()}
        elif not (name == "title" and isinstance(value, str)):
            kept[name] = _without_titles(value)
    return kept


def _check(fits: Callable[[Any], bool], want: str) -> Read:
    def read(value: Any) -> Any:
        if not fits(value):
            raise Misfit(want)
        return value

    return read


def _read_int(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # JSON knows one kind of number
    if not isinstance(value, int) or isinstance(value, bool):
        raise Misfit("must be a whole number")
    return value


def _read_float(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise Misfit("must be a number")
    return float(value)


def _parsed(parse: Callable[[str], Any], want: str) -> Read:
    def read(value: Any) -> Any:
        try:
            return parse(value)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            raise Misfit(want) from None

    return read


def _parse_moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)


_PLAIN: dict[Any, Shape] = {
    Any: Shape({}),
    object: Shape({}),
    str: Shape({"type": "string"}, _check(lambda v: isinstance(v, str), "must be a string")),
    int: Shape({"type": "integer"}, _read_int),
    float: Shape({"type": "number"}, _read_float),
    bool: Shape({"type": "boolean"}, _check(lambda v: isinstance(v, bool), "must be true or false")),
    decimal.Decimal: Shape(
        {"type": ["number", "string"]}, _parsed(lambda v: decimal.Decimal(str(v)), "must be a number")
    ),
    datetime.datetime: Shape(
        {"type": "string", "format": "date-time"}, _parsed(_parse_moment, "must be a date and time")
    ),
    datetime.date: Shape({"type": "string", "format": "date"}, _parsed(datetime.date.fromisoformat, "must be a date")),
    datetime.time: Shape({"type": "string", "format": "time"}, _parsed(datetime.time.fromisoformat, "must be a time")),
    uuid.UUID: Shape({"type": "string", "format": "uuid"}, _parsed(uuid.UUID, "must be a UUID")),
    pathlib.Path: Shape({"type": "string"}, _parsed(pathlib.Path, "must be a path")),
}

_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean"}

_SEQUENCES: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    set: set,
    collections.abc.Set: set,
    frozenset: frozenset,
    tuple: tuple,
}
