"""What the commands need of whoever runs them: files, and a word typed."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text


class WrongUsage(Exception):
    """It cannot be carried out as it was called. The message says what to do."""


def text_of(file: Path) -> str:
    """The content of a file, without a byte order mark. :raises WrongUsage: it cannot be read."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongUsage(f"{file} cannot be read as UTF-8: {error}") from None
    except OSError as error:
        raise WrongUsage(f"{file} cannot be read: {error.strerror or error}") from None


def confirmed(out: Console, key: str, what: str, flag: str) -> bool:
    """Whether somebody types ``key``, having seen what they approve.

    :param flag: what says the same without being asked. :raises WrongUsage: nobody can type here.
    """
    try:
        typed = out.input(Text(f"Type {key} to approve this {what}: "))
    except EOFError:
        raise WrongUsage(
            f"Nobody can type here. Look at it first, then approve it with {flag} and the digest that was shown."
        ) from None
    if typed.strip() == key:
        return True
    out.print("Nothing was approved.")
    return False
