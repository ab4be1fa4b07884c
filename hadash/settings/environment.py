"""Reads variables of the environment."""

from __future__ import annotations

import ipaddress
import json
import os
from pathlib import Path


def flag(name: str, default: bool) -> bool:
    """A boolean variable: 1, true, yes or on."""
    return os.environ.get(name, str(default)).strip().lower() in ("1", "true", "yes", "on")


def number(name: str, default: float) -> float:
    """A numeric variable. :raises ValueError: naming the variable."""
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} is not a number.") from None


def mapping(name: str) -> dict[str, str]:
    """A variable that is a JSON object of texts. :raises ValueError: naming the variable."""
    text = os.environ.get(name, "").strip() or "{}"
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError(f"{name}={text!r} is not a JSON object of texts.")
    return found


def secret(name: str) -> str:
    """A secret: the variable ``name``, or the text of the file that ``<name>_FILE`` names.

    :raises ValueError: the file cannot be read.
    """
    path = os.environ.get(f"{name}_FILE", "").strip()
    if not path:
        return os.environ.get(name, "")
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise ValueError(f"{name}_FILE={path!r} cannot be read: {error.strerror}.") from None


def networks(name: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """A variable that lists networks, separated by commas. :raises ValueError: naming the variable."""
    found = []
    for text in os.environ.get(name, "").split(","):
        if text.strip():
            try:
                found.append(ipaddress.ip_network(text.strip()))
            except ValueError as error:
                raise ValueError(f"{name}: {error}.") from None
    return tuple(found)


def numbers(name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """A variable that lists numbers, separated by commas. :raises ValueError: naming the variable."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ValueError(f"{name}={text!r} is not a list of numbers with commas between them.") from None
