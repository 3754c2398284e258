"""Prints docs/reference/sdk-python.md: what the package offers, out of its sources. Needs nothing but Python."""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parent / "src" / "beeos"

INTRODUCTION = """\
# The Python SDK

Every name of the package `beeos`, out of its sources; [Agents in Python](../how-to/python.md) tells how they work together.
This page is generated: change the docstrings, then run `go test ./test/reference -update`.
"""

# The modules that names come from, in the order of the page.
SECTIONS = {
    "Agents": ["agent", "adapters"],
    "In a handler": ["message", "files", "context", "sync_context", "steps", "trace"],
    "What tools return": ["results"],
    "Calling agents": ["client", "sync_client", "models", "webhooks"],
    "Errors": ["errors"],
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    offered = read_offered()
    sections = [INTRODUCTION]
    for title, modules in SECTIONS.items():
        sections.append(f"\n## {title}\n")
        for module in modules:
            source = Module(module)
            sections += [source.describe(name) for name in offered.pop(module, [])]
    if offered:
        raise SystemExit(f"reference.py: SECTIONS has no place for {', '.join(offered)}")
    print("".join(sections), end="")


def read_offered() -> dict[str, list[str]]:
    """The names that the package exports, by the modules that they come from."""
    imports = ast.parse((SOURCES / "__init__.py").read_text()).body
    found = [node for node in imports if isinstance(node, ast.ImportFrom) and node.module != "_version"]
    return {str(node.module): [alias.name for alias in node.names] for node in found}


class Module:
    def __init__(self, name: str) -> None:
        path = SOURCES / f"{name}.py"
        text = (path if path.exists() else SOURCES / name / "__init__.py").read_text()
        self._body = ast.parse(text).body
        self._comments = {
            token.start[0]: token.string.removeprefix("#").strip()
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type == tokenize.COMMENT
        }

    def describe(self, name: str) -> str:
        node = next(n for n in self._body if isinstance(n, (ast.ClassDef, Function)) and n.name == name)
        if isinstance(node, ast.ClassDef):
            return f"\n### {name}\n" + self._describe_class(node)
        return f"\n### {name}\n{code(signature(node))}{prose(node)}"

    def _describe_class(self, node: ast.ClassDef) -> str:
        said = prose(node)
        fields = [n for n in node.body if isinstance(n, ast.AnnAssign) and not private(n.target)]
        is_data = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
        made = next((n for n in methods(node) if n.name == "__init__"), None)
        bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) not in ("Record", "object")]
        if made and not is_data and made.args.kwonlyargs + made.args.args[1:] and not takes_internals(made):
            said = code(signature(made, name=node.name)) + said
        elif bases:
            said = code(f"class {node.name}({', '.join(bases)})") + said
        if is_data and fields:
            said += "\n| field | type | |\n|---|---|---|\n" + "".join(map(self._describe_field, fields))
        shared = [n for n in node.body if isinstance(n, ast.Assign) and re.match(r"\w+ = (waits|iterates)\(", ast.unparse(n))]
        if shared:
            names = ", ".join(f"`{ast.unparse(n.targets[0])}`" for n in shared)
            said += f"\nWithout `await`, and otherwise as there: {names}.\n"
        return said + "".join(describe_method(node.name, n) for n in methods(node) if for_users(n))

    def _describe_field(self, node: ast.AnnAssign) -> str:
        comment = self._comments.get(node.end_lineno or 0, "")
        kind = ast.unparse(node.annotation).replace("|", "\\|")
        return f"| `{ast.unparse(node.target)}` | `{kind}` | {markdown(comment)} |\n"


def private(target: ast.expr) -> bool:
    return not isinstance(target, ast.Name) or target.id.startswith("_")


def methods(node: ast.ClassDef) -> Iterator[Function]:
    """The methods, those with overloads as they are written last."""
    for n in node.body:
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and "overload" not in decorators(n):
            yield n


def decorators(node: Function) -> list[str]:
    return [ast.unparse(d) for d in node.decorator_list]


def for_users(node: Function) -> bool:
    """What says of itself what it does; parse is for what reads the wire."""
    return not node.name.startswith("_") and node.name != "parse" and ast.get_docstring(node) is not None


def takes_internals(node: Function) -> bool:
    """Such objects are given to people, not made by them."""
    kinds = {ast.unparse(a.annotation) for a in node.args.args[1:] if a.annotation}
    return bool(kinds & {"Turn", "Context", "Record"})


def describe_method(of: str, node: Function) -> str:
    is_value = any(d.endswith("property") for d in decorators(node))
    shown = f"{node.name}: {ast.unparse(node.returns)}" if is_value and node.returns else signature(node)
    return f"\n#### {of}.{node.name}\n{code(shown)}{prose(node)}"


def signature(node: Function, name: str = "") -> str:
    """How it is called; one argument a line where they are many."""
    args = node.args
    is_method = bool(args.args) and args.args[0].arg == "self"
    given = [*args.posonlyargs, *args.args][is_method:]
    defaults = [None] * (len(given) - len(args.defaults)) + list(args.defaults)
    written = [argument(a, d) for a, d in zip(given, defaults, strict=True)]
    if args.posonlyargs:
        written.insert(len(args.posonlyargs), "/")
    if args.vararg:
        written.append("*" + argument(args.vararg, None))
    elif args.kwonlyargs:
        written.append("*")
    written += [argument(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        written.append("**" + argument(args.kwarg, None))
    result = f" -> {ast.unparse(node.returns)}" if node.returns and not name and ast.unparse(node.returns) != "None" else ""
    before = "await " if isinstance(node, ast.AsyncFunctionDef) and "AsyncIterator" not in result else ""
    line = f"{before}{name or node.name}({', '.join(written)}){result}"
    if len(line) <= 100:
        return line
    lines = "".join(f"    {one},\n" for one in written)
    return f"{before}{name or node.name}(\n{lines}){result}"


def argument(arg: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(arg.annotation)}" if arg.annotation else ""
    if default is None:
        return arg.arg + kind
    return f"{arg.arg}{kind} = {ast.unparse(default)}" if kind else f"{arg.arg}={ast.unparse(default)}"


def code(text: str) -> str:
    return f"\n```python\n{text.replace(chr(39), chr(34))}\n```\n"


def prose(node: ast.ClassDef | Function) -> str:
    """The docstring as Markdown: indented lines are code, what stands under Args is a list."""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    about, _, arguments = text.partition("\nArgs:\n")
    parts = [f"\n{markdown(block)}\n" for block in about.rstrip().split("\n\n") if block.strip()]
    if arguments:
        joined = re.sub(r"\n {4,}", " ", textwrap.dedent(arguments))  # what goes on is indented further
        parts.append("\n" + "".join(f"- {item(line)}\n" for line in joined.strip().splitlines()))
    return "".join(parts)


def markdown(block: str) -> str:
    """Prose, in which an angle bracket is none of HTML's; or code, which is indented."""
    if block.startswith("    "):
        return f"```python\n{textwrap.dedent(block)}\n```"
    pieces = block.replace("``", "`").split("`")
    return "`".join(piece if i % 2 else piece.replace("<", "\\<") for i, piece in enumerate(pieces))


def item(line: str) -> str:
    name, _, about = line.partition(": ")
    return f"`{name.strip()}`: {markdown(about)}"


if __name__ == "__main__":
    main()
