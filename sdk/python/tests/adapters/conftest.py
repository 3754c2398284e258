"""What all frameworks have to show is in test_framework.py; what only one of them has, in a file that is named after it."""

from __future__ import annotations

import os
from pathlib import Path

_HERE = Path(__file__).parent
_FRAMEWORK = os.environ.get("BEEOS_FRAMEWORK")
_WANTED = {f"test_{_FRAMEWORK}.py"}
if _FRAMEWORK != "function":  # whose program in the documents needs no framework: test_docs.py a folder above has it
    _WANTED.add("test_docs.py")
if (_HERE / f"with_{_FRAMEWORK}.py").exists():
    _WANTED.add("test_framework.py")
collect_ignore = [path.name for path in _HERE.glob("test_*.py") if path.name not in _WANTED]
