"""Where the folders lie that stand beside ``hadash/`` in the repository: ``tasks``, ``spark``, ``templates``,
``static``.

In a checkout they stand there. A wheel has them in ``hadash/_toplevel``, because names such as ``tasks``
belong to everybody in an environment; only hadash's own processes look there
(``docs/adr/0015-a-wheel-with-general-names.md``).
"""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGED = Path(__file__).resolve().parent / "_toplevel"

#: Whether this is a wheel, and no checkout.
IS_INSTALLED = _PACKAGED.is_dir()
ROOT = _PACKAGED if IS_INSTALLED else _PACKAGED.parent.parent


def make_importable() -> None:
    """Let this process import ``tasks`` and ``spark``, whatever else has such a name in its environment."""
    if sys.path[0] != str(ROOT) and IS_INSTALLED:
        sys.path.insert(0, str(ROOT))
