"""Where the folders beside ``hadash/`` in the repository are: ``tasks``, ``spark``, ``templates``, ``static``.

In a checkout they are there. A wheel has them in ``hadash/_toplevel``, because names such as ``tasks`` may be
anybody's in an environment; only hadash's own processes look there
(``docs/adr/0015-a-wheel-with-general-names.md``).
"""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGED = Path(__file__).resolve().parent / "_toplevel"

#: Whether hadash runs from an installed wheel rather than a checkout.
IS_INSTALLED = _PACKAGED.is_dir()
ROOT = _PACKAGED if IS_INSTALLED else _PACKAGED.parent.parent


def make_importable() -> None:
    """Let this process import ``tasks`` and ``spark``, even if other packages in the environment have these names."""
    if sys.path[0] != str(ROOT) and IS_INSTALLED:
        sys.path.insert(0, str(ROOT))
