"""The fleet of the pages, with addresses for its people."""

from __future__ import annotations

from dashboard.conftest import (
    engines,
    finished,
    fleet,
    handed,
    make_batch,
    make_change,
    make_switch,
    plan,
    quick,
)
from notices.conftest import people
