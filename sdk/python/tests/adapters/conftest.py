"""What all frameworks have to show is in test_framework.py; what only one of them has, in a file that is named after it."""

from __future__ import annotations

import os
from pathlib import Path

_OF_ALL = ("test_framework.py",)
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("test_*.py")
    if path.name not in (*_OF_ALL, f"test_{os.environ.get('BEEOS_FRAMEWORK')}.py")
]
