"""Agents out of what people have: a graph, an agent, a crew, a workflow or a server of another framework, or a function.

There is one module per framework, which is imported when something of that framework is served; what they
share is in ``conversation``, ``telling``, ``asking`` and ``inputs``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..agent import Agent


@dataclass(frozen=True)
class Framework:
    """A class of somebody else's, and the module here that serves what is made of it."""

    module: str  # where the class is defined, or a package above
    kind: str  # the class
    adapter: str
    what: str


KNOWN = (
    Framework("langgraph.pregel", "Pregel", "langgraph", "a LangGraph graph"),
    Framework("langgraph.graph", "StateGraph", "langgraph", "a LangGraph graph"),
    Framework("pydantic_ai", "AbstractAgent", "pydantic_ai", "a Pydantic AI agent"),
    Framework("agents.agent", "Agent", "openai_agents", "an OpenAI Agents SDK agent"),
    Framework("fastmcp.server", "FastMCP", "fastmcp", "a FastMCP server"),
    Framework("google.adk.agents", "BaseAgent", "google_adk", "a Google ADK agent"),
    Framework("google.adk.apps", "App", "google_adk", "a Google ADK agent"),
    Framework("workflows", "Workflow", "llama_index", "a LlamaIndex workflow"),
    Framework("crewai", "Crew", "crewai", "a CrewAI crew"),
)


def adapt(x: Any, name: str = "", *, options: Mapping[str, Any] | None = None, **settings: Any) -> Agent:
    """Make an agent of what another framework made: a LangGraph graph, an agent of Pydantic AI, of the OpenAI
    Agents SDK or of Google ADK, a LlamaIndex workflow, a CrewAI crew, a FastMCP server, or a function.

    Args:
        x: What is to be served. An Agent is one already.
        name: Unique among its owner's agents; that of ``x`` when empty.
        options: More arguments of the framework's own call that runs ``x``, such as ``deps`` for Pydantic AI or
            ``max_turns`` for the OpenAI Agents SDK.
        settings: What ``Agent`` takes besides its name.
    """
    if isinstance(x, Agent):
        return x
    adapter = _adapter_of(x)
    try:
        module = importlib.import_module(f".{adapter}", __name__)
    except ImportError as err:
        extra = adapter.replace("_", "-")
        raise ImportError(f"{err}; the versions that this needs come with: pip install 'beeos[{extra}]'") from err
    made: Agent = module.adapt(x, name, dict(options or {}), settings)
    return made


def serve(x: Any, name: str = "", *, options: Mapping[str, Any] | None = None, **settings: Any) -> None:
    """Serve what another framework made until the process is told to stop; see ``adapt``.

    In a program that is async already, ``await adapt(x).serve()`` does the same, and ``run(adapt(x), adapt(y))``
    serves several.
    """
    adapt(x, name, options=options, **settings).run()


def _adapter_of(x: Any) -> str:
    """Which module serves it. Its classes tell: nothing is imported to find out."""
    if not isinstance(x, type):
        for made in type(x).__mro__:
            for known in KNOWN:
                if made.__name__ == known.kind and f"{made.__module__}.".startswith(f"{known.module}."):
                    return known.adapter
    if callable(x) and not isinstance(x, type):
        return "function"
    kinds = [known.what for known in KNOWN]
    told = ", ".join([*dict.fromkeys(kinds), "or a function"])
    found = f"the class {x.__qualname__}" if isinstance(x, type) else f"{type(x).__module__}.{type(x).__qualname__}"
    raise TypeError(f"{found} cannot be served; give {told}")


__all__ = ["KNOWN", "Framework", "adapt", "serve"]
