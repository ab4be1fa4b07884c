"""The estate of the pages, with addresses for its people."""

from __future__ import annotations

from dashboard.conftest import (
    engines,
    estate,
    finished,
    handed,
    make_batch,
    make_change,
    make_switch,
    plan,
    quick,
)
from notices.conftest import people
