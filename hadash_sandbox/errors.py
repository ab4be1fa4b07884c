"""The one exception that the sandbox raises for a fault that its user can mend."""

from __future__ import annotations


class SandboxError(Exception):
    """The message is one sentence that says what is wrong and what to do about it.

    Where a program died, the end of its log follows on the next lines.
    """
