"""The one exception that the sandbox raises for faults that its user can fix."""

from __future__ import annotations


class SandboxError(Exception):
    """A fault that the user can fix; the message says what is wrong and what to do about it.

    If a program died, the end of its log follows on the next lines.
    """
