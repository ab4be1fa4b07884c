"""The scripts in ``docs/`` that write pages: they are in no package."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from django.conf import settings


def load(name: str) -> ModuleType:
    """Return ``docs/<name>.py`` as a module."""
    spec = importlib.util.spec_from_file_location(name, settings.BASE_DIR / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module
