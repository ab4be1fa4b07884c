"""The Gateway is a process of its own: it must start where there is no Django."""

from __future__ import annotations

import subprocess
import sys


def test_the_gateway_imports_no_django() -> None:
    program = "import sys, hadash.gateway.__main__; print(sorted(m for m in sys.modules if 'django' in m))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
