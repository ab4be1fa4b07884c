"""The estate of the pages."""

from __future__ import annotations

from dashboard.conftest import estate, make_batch, make_switch, people, plan, quick

__all__ = ["estate", "make_batch", "make_switch", "people", "plan", "quick"]
