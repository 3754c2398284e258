"""Descriptions out of docstrings: the summary, and what ``Args:`` says of each parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?|Attributes|See Also|Warnings?):\s*$"
)
_PARAMETER = re.compile(r"(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


def parse_docstring(thing: Callable[..., Any] | type) -> tuple[str, dict[str, str]]:
    """The description of a function or class, and those of its parameters by name."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    about: list[str] = []
    parameters: dict[str, str] = {}
    section = name = ""
    indent = 0
    for line in lines:
        text = line.strip()
        if found := _SECTION.match(line):
            section, name, indent = found[1], "", 0
        elif not section:
            about.append(text)
        elif section in ("Args", "Arguments", "Parameters") and text:
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            found = _PARAMETER.match(text)
            if found and depth <= indent:
                name = found[1].lstrip("*")
                parameters[name] = found[2]
            elif name:
                parameters[name] = f"{parameters[name]} {text}".strip()
    return _join_paragraphs(about), {name: text for name, text in parameters.items() if text}


def _join_paragraphs(lines: list[str]) -> str:
    """Lines of one paragraph become one line: models and people get them in boxes of other widths."""
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(" ".join(p.split()) for p in paragraphs if p.strip())
