"""The extras of the package bring what its adapters are tested with."""

from __future__ import annotations

from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LISTS = Path(__file__).parents[3] / "test" / "pythonsdk" / "adapters"
REQUIRED = [Requirement(line) for line in requires("beeos") or []]


def _belongs_to(required: Requirement, extra: str) -> bool:
    """Whether an extra brings this, on whichever Python."""
    return f'extra == "{extra}"' in str(required.marker).replace("'", '"')


@pytest.mark.parametrize("path", sorted(LISTS.glob("*.txt")), ids=lambda path: path.stem)
def test_extra(path: Path) -> None:
    lines = [line.partition("==") for line in path.read_text().splitlines() if "==" in line]
    pinned = {canonicalize_name(name): version for name, _, version in lines}
    brought = [required for required in REQUIRED if _belongs_to(required, path.stem.replace("_", "-"))]
    assert brought, f"no extra is called {path.stem}"
    always = [required for required in REQUIRED if required.marker is None]
    assert always
    for required in brought + always:
        version = pinned[canonicalize_name(required.name)]
        assert required.specifier.contains(version), f"{required} is not {version}, which is tested"


def test_every_extra_is_tested() -> None:
    named = {path.stem.replace("_", "-") for path in LISTS.glob("*.txt")}
    left = [str(r) for r in REQUIRED if r.marker and not any(_belongs_to(r, extra) for extra in [*named, "fast"])]
    assert not left
