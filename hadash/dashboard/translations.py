"""The catalogue of translations: ``python -m hadash.dashboard.translations`` updates it.

GNU gettext is not needed: Babel extracts and compiles. In addition to gettext's calls, every ``say(…)`` template is a
message, because sentences are translated where they are shown.
"""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent.parent
LOCALE = ROOT / "hadash" / "locale" / "zh_Hans" / "LC_MESSAGES"
PO, MO = LOCALE / "django.po", LOCALE / "django.mo"

#: The calls whose arguments are messages, and which arguments; ``c`` is a context.
_KEYWORDS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}

PLACE = re.compile(r"%\((\w+)\)[sd]|\{(\w+)\}")


class Message(NamedTuple):
    """A message of the catalogue. ``plural`` and ``context`` are ``None`` for most."""

    text: str
    plural: str | None = None
    context: str | None = None


def needs_translation(text: str) -> bool:
    """Whether a text has words: a template of placeholders alone is the same in every language."""
    return bool(re.search(r"[A-Za-z]", PLACE.sub("", text)))


def _extracted(source: str) -> Iterator[Message]:
    for _line, found, _comments, context in extract("python", io.BytesIO(source.encode()), _KEYWORDS):
        texts = found if isinstance(found, tuple) else (found,)
        yield Message(texts[0], texts[1] if len(texts) > 1 else None, context)


def in_templates() -> dict[Message, str]:
    """Return the messages in the templates, each with one file that has it."""
    found: dict[Message, str] = {}
    for path in sorted((ROOT / "templates").rglob("*.html")):
        # Everything but the messages becomes X, indented as in the template: the indentation is no valid Python.
        calls = "\n".join(line.strip() for line in templatize(path.read_text()).splitlines())
        found |= dict.fromkeys(_extracted(calls), str(path.relative_to(ROOT)))
    return found


def _python_files() -> Iterator[Path]:
    for folder in ("hadash", "hadash_sandbox", "spark", "tasks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts and path != Path(__file__).resolve():
                yield path


def in_python() -> dict[Message, str]:
    """Return the messages in Python files, each with one file that has it."""
    found: dict[Message, str] = {}
    for path in _python_files():
        source, where = path.read_text(), str(path.relative_to(ROOT))
        found |= dict.fromkeys(_extracted(source), where)
        if "say(" in source and path.name != "sentences.py":
            said = {text for text in _said(ast.parse(source)) if needs_translation(text)}
            # (A plural is part of its singular's message.)
            said -= {each.text for each in found if each.context is None} | {each.plural for each in found}
            found |= {Message(text): where for text in said}
    return found


def _said(tree: ast.AST) -> Iterator[str]:
    """Yield the templates given to ``say``; also strings that reach it through a variable, recognised by their named
    placeholders.
    """
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
            if node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and re.search(r"%\(\w+\)s", node.value)
        ):
            yield node.value


def messages() -> dict[Message, str]:
    """Return every message that needs a translation, with one file that has it."""
    return in_python() | in_templates()


def catalogue() -> Catalog:
    """Return the catalogue in ``django.po``."""
    with PO.open("rb") as file:
        return read_po(file, locale="zh_Hans")


def compiled() -> bytes:
    """Return the content that ``django.mo`` should have."""
    buffer = io.BytesIO()
    write_mo(buffer, catalogue())
    return buffer.getvalue()


def update() -> list[Message]:
    """Write the catalogue again, with the translations that it had. Return the messages without a translation."""
    old = catalogue() if PO.exists() else Catalog(locale="zh_Hans")
    new = Catalog(
        locale="zh_Hans",
        header_comment="# hadash in simplified Chinese; see hadash/dashboard/translations.py.",
        project="hadash",
        version="1",
        msgid_bugs_address=" ",
        last_translator="hadash",
        language_team="hadash",
        charset="utf-8",
        fuzzy=False,
    )
    new.revision_date = new.creation_date = old.creation_date
    lacking = []
    for message, where in sorted(messages().items(), key=lambda item: (item[1], item[0].text)):
        known = old.get(message.text, message.context)
        translation = known.string if known else ""
        if message.plural and isinstance(translation, str):
            translation = (translation,)
        key = (message.text, message.plural) if message.plural else message.text
        entry = new.add(key, translation, locations=[(where, 0)], context=message.context)
        if "%(" in message.text:
            entry.flags.add("python-format")
        if not (translation[0] if isinstance(translation, tuple) else translation):
            lacking.append(message)
    PO.parent.mkdir(parents=True, exist_ok=True)
    with PO.open("wb") as file:
        write_po(file, new, width=100, include_lineno=False)
    MO.write_bytes(compiled())
    return lacking


if __name__ == "__main__":
    missing = update()
    for message in missing:
        print(f"not translated: {message.text}")
    sys.exit(bool(missing))
