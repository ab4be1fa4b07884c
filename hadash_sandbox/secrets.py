"""Generated passwords, made once and kept in the data folder."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from pathlib import Path


def passwords(names: Iterable[str], store: Path) -> dict[str, str]:
    """Return a password per name, generated for the names that `store` does not know."""
    try:
        known: dict[str, str] = json.loads(store.read_text())
    except (FileNotFoundError, ValueError):
        known = {}
    wanted = list(names)
    if any(name not in known for name in wanted):
        for name in wanted:
            known.setdefault(name, secrets.token_hex(16))
        store.parent.mkdir(parents=True, exist_ok=True)
        part = store.with_suffix(".part")
        part.touch(mode=0o600)
        part.write_text(json.dumps(known, indent=2) + "\n")
        part.replace(store)
    return {name: known[name] for name in wanted}
