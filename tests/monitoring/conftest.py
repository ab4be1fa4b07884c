"""The fleet of the pages."""

from __future__ import annotations

from dashboard.conftest import fleet, make_batch, make_switch, people, plan, quick

__all__ = ["fleet", "make_batch", "make_switch", "people", "plan", "quick"]
