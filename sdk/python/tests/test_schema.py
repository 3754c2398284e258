"""What type hints and docstrings become."""

from __future__ import annotations

import datetime
import enum
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest

from beeos import Agent, Context, SyncContext
from beeos.functions import Arguments, Function, output_schema


class Unit(enum.Enum):
    METRIC = "metric"
    IMPERIAL = "imperial"


@dataclass
class Place:
    """A place on Earth.

    Args:
        name: What people call it.
    """

    name: str
    height: float = 0
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.height > 9000:
            raise ValueError("nothing is that high")


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


class Point(TypedDict):
    x: int
    y: int


class MaybePoint(TypedDict, total=False):
    x: int


def arguments(function: Any) -> Arguments:
    return Arguments(Function(function))


def test_plain_function() -> None:
    def forecast(city: str, days: int = 1) -> str:
        """The forecast for a city.

        It is a guess.

        Args:
            city: Where, in any
                language.
            days (int): How far ahead.

        Returns:
            A text: with a colon.
        """
        return ""

    assert Function(forecast).about == "The forecast for a city.\n\nIt is a guess."
    assert arguments(forecast).schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where, in any language."},
            "days": {"type": "integer", "description": "How far ahead.", "default": 1},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert arguments(forecast).read({"city": "Rome", "days": 3.0}) == {"city": "Rome", "days": 3}


@pytest.mark.parametrize(
    ("hint", "schema", "given", "read"),
    [
        (str, {"type": "string"}, "é", "é"),
        (float, {"type": "number"}, 1, 1.0),
        (bool, {"type": "boolean"}, True, True),
        (Any, {}, [None], [None]),
        (Optional[int], {"type": ["integer", "null"]}, None, None),
        (Union[int, str], {"type": ["integer", "string"]}, "a", "a"),
        (Optional[list[int]], {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, [1], [1]),
        (list, {"type": "array"}, [1, "a"], [1, "a"]),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ["a", "b"], {"a", "b"}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
            [1, "a"],
            (1, "a"),
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": 1}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
        (Unit, {"type": "string", "enum": ["metric", "imperial"]}, "metric", Unit.METRIC),
        (
            datetime.datetime,
            {"type": "string", "format": "date-time"},
            "2026-01-02T03:04:05Z",
            datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
        ),
        (uuid.UUID, {"type": "string", "format": "uuid"}, "0" * 32, uuid.UUID(int=0)),
        (Annotated[int, "How many."], {"type": "integer", "description": "How many."}, 1, 1),
    ],
)
def test_types(hint: Any, schema: dict[str, Any], given: Any, read: Any) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__ = {"value": hint}
    made = arguments(function)
    assert made.schema["properties"]["value"] == schema
    assert made.read({"value": given}) == {"value": read}


def test_objects() -> None:
    def go(place: Place, at: Point, maybe: MaybePoint, unit: Unit = Unit.METRIC) -> None: ...

    made = arguments(go)
    properties = made.schema["properties"]
    assert properties["place"] == {
        "type": "object",
        "description": "A place on Earth.",
        "properties": {
            "name": {"type": "string", "description": "What people call it."},
            "height": {"type": "number", "default": 0},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert properties["at"]["required"] == ["x", "y"]
    assert "required" not in properties["maybe"]
    assert properties["unit"]["default"] == "metric"
    found = made.read({"place": {"name": "Rome"}, "at": {"x": 1, "y": 2}, "maybe": {}})
    assert found == {"place": Place("Rome"), "at": {"x": 1, "y": 2}, "maybe": {}}


def test_types_that_contain_themselves() -> None:
    def plant(tree: Tree) -> None: ...

    made = arguments(plant)
    assert made.schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert made.schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert made.read({"tree": {"value": 1, "children": [{"value": 2}]}}) == {"tree": Tree(1, [Tree(2)])}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "place: is missing"),
        ({"place": 7}, "place: must be an object"),
        ({"place": {}}, "place.name: is missing"),
        ({"place": {"name": "x", "tags": [1]}}, "place.tags.0: must be a string"),
        ({"place": {"name": "x", "colour": 1}}, "place.colour: is not known"),
        ({"place": {"name": "x", "height": 9999}}, "place: nothing is that high"),
        ({"place": {"name": "x"}, "many": "all"}, "many: must be a whole number"),
        ({"place": {"name": "x"}, "many": True}, "many: must be a whole number"),
        ({"place": {"name": "x"}, "more": 1}, "more: is not known"),
    ],
)
def test_misfits(given: dict[str, Any], why: str) -> None:
    def go(place: Place, many: int = 1) -> None: ...

    with pytest.raises(ValueError, match="the arguments do not fit: ") as caught:
        arguments(go).read(given)
    assert str(caught.value).endswith(why)


def test_everything_else_is_taken_by_keywords() -> None:
    def go(a: int, **more: Any) -> None: ...

    made = arguments(go)
    assert "additionalProperties" not in made.schema
    assert made.read({"a": 1, "b": 2}) == {"a": 1, "b": 2}


def test_context_is_no_argument() -> None:
    async def one(a: int, ctx: Context) -> None: ...
    def two(ctx, a: int = 2) -> None: ...  # type: ignore[no-untyped-def]
    def three(a: int, about: SyncContext) -> None: ...

    for function, name in ((one, "ctx"), (two, "ctx"), (three, "about")):
        assert Function(function).context == name
        assert list(arguments(function).schema["properties"]) == ["a"]


def test_context_of_the_wrong_face() -> None:
    async def one(ctx: SyncContext) -> None: ...
    def two(ctx: Context) -> None: ...

    with pytest.raises(TypeError, match="one is async: its ctx is a beeos.Context"):
        Function(one)
    with pytest.raises(TypeError, match="two is not async: its ctx is a beeos.SyncContext"):
        Function(two)


def test_what_has_no_schema() -> None:
    def one(a: bytes) -> None: ...
    def two(*a: int) -> None: ...

    with pytest.raises(TypeError, match="no JSON Schema for bytes"):
        arguments(one)
    with pytest.raises(TypeError, match="by name"):
        arguments(two)


def test_output() -> None:
    def place() -> Place: ...  # type: ignore[empty-body]
    def text() -> str: ...  # type: ignore[empty-body]
    def anything() -> dict[str, Any]: ...  # type: ignore[empty-body]

    assert (output_schema(Function(place)) or {})["required"] == ["name"]
    assert output_schema(Function(text)) is None
    assert output_schema(Function(anything)) is None


def test_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")
    Order = pydantic.create_model("Order", item=(str, ...), count=(Annotated[int, pydantic.Field(gt=0)], 1))

    def buy(order: Any, limit: Any = 5) -> Any: ...

    buy.__annotations__ = {
        "order": Order,
        "limit": Annotated[int, pydantic.Field(ge=1, le=9, description="Most.")],
        "return": Order,
    }
    made = arguments(buy)
    order = made.schema["properties"]["order"]
    assert order["required"] == ["item"] and "title" not in order and "title" not in order["properties"]["item"]
    limit = {"type": "integer", "minimum": 1, "maximum": 9, "description": "Most.", "default": 5}
    assert made.schema["properties"]["limit"] == limit
    assert made.read({"order": {"item": "hive"}})["order"] == Order(item="hive")
    with pytest.raises(ValueError, match="do not fit: order.count: "):
        made.read({"order": {"item": "hive", "count": 0}})
    assert (output_schema(Function(buy)) or {})["required"] == ["item"]


def test_tools_and_prompts_come_and_go() -> None:
    bot = Agent("changing")

    async def still_here() -> str:
        return "still here"

    bot.tool(name="job", execution={"taskSupport": "required"})(still_here)
    bot.prompt(name="greeting")(still_here)
    (job,) = bot.definition()["skills"]
    assert job["execution"] == {"taskSupport": "required"}
    bot.remove_tool("job")
    bot.remove_prompt("greeting")
    assert bot.definition() == {"name": "changing"}
    bot.tool(name="job")(still_here)
    assert [tool["name"] for tool in bot.definition()["skills"]] == ["job"]
