"""Input for the commands: files, and confirmations typed at the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text


class WrongUsage(Exception):
    """A command cannot be carried out as it was called. The message says what to do."""


def text_of(file: Path) -> str:
    """Return the content of a UTF-8 file, without a byte order mark.

    :raises WrongUsage: the file cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongUsage(f"{file} cannot be read as UTF-8: {error}") from None
    except OSError as error:
        raise WrongUsage(f"{file} cannot be read: {error.strerror or error}") from None


def confirmed(out: Console, key: str, what: str, flag: str) -> bool:
    """Ask the person to type ``key`` to approve what was shown. Return whether they did.

    :param flag: the option that approves without asking.
    :raises WrongUsage: there is no terminal to type at.
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
