"""Writes ``docs/settings.md``: every environment variable with its default and the comment that stands above it in the
code, so that page and code cannot differ.

Run it after a change of a setting: ``.venv/bin/python docs/list_settings.py``.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "settings.md"
WIDTH = 120

#: Functions that read a variable, by the kind of value that they return.
READERS = {
    "number": "a number",
    "numbers": "numbers with commas between them",
    "flag": "yes or no",
    "secret": "a secret",
    "networks": "networks with commas between them",
    "mapping": "a JSON object of texts",
    "os.environ.get": "a text",
}

#: Modules with settings, in the order of the page, with the title of their section.
MODULES = {
    "hadash/settings/web.py": "The web server and its pages",
    "hadash/settings/monitoring.py": "Monitoring",
    "hadash/settings/api.py": "The API",
    "hadash/settings/accounts.py": "Signing in",
    "hadash/settings/servers.py": "Servers",
    "hadash/settings/switching.py": "Switching",
    "hadash/settings/watching.py": "Watching mirrors, clusters and Gateways",
    "hadash/settings/pools.py": "Pools of consumers",
    "hadash/settings/audit.py": "The audit log",
    "hadash/settings/pipeline.py": "The pipeline",
    "hadash/settings/outbox.py": "Mail",
    "hadash/settings/notices.py": "Notices",
    "hadash/settings/reports.py": "Reports",
    "hadash/bindings/client.py": "ZooKeeper",
    "hadash/kafka/connect.py": "Kafka Connect",
    "hadash/kafka/group_admin.py": "Kafka's groups",
    "hadash/kafka/tail.py": "Kafka's records",
}

#: Classes whose fields are settings: module, class, title, prefix of the variables.
CLASSES = (
    ("hadash/gateway/settings.py", "GatewaySettings", "A Gateway", "HADASH_GATEWAY_"),
    (
        "hadash/coordinator/process_settings.py",
        "CoordinatorSettings",
        "The assignment coordinator",
        "HADASH_COORDINATOR_",
    ),
    (
        "hadash/coordinator/process_settings.py",
        "MemberSettings",
        "A member of a consumer pool",
        "HADASH_MEMBER_",
    ),
    ("hadash/auditors/settings.py", "AuditorSettings", "An auditor", "HADASH_AUDITOR_"),
    ("hadash/bindings/access.py", "Access", "Signing in to ZooKeeper", "HADASH_ZOOKEEPER_"),
    ("spark/session.py", "SparkSettings", "Spark", "HADASH_SPARK_"),
)

#: Variables whose names differ from prefix and field.
NAMES = {
    ("Access", "ca"): "HADASH_ZOOKEEPER_TLS_CA",
    ("Access", "certificate"): "HADASH_ZOOKEEPER_TLS_CERTIFICATE",
    ("Access", "key"): "HADASH_ZOOKEEPER_TLS_KEY",
    ("SparkSettings", "master"): "SPARK_MASTER",
}

#: Variables that a function reads when it is called, where no comment can stand above a statement.
IN_FUNCTIONS = {
    "Traces": {
        "HADASH_TRACES": "Whether processes export traces over OTLP (docs/monitoring.md). Off by default.",
        "OTEL_SERVICE_NAME": "The process's name in traces, in place of hadash's own. OpenTelemetry's other variables "
        "(OTEL_EXPORTER_OTLP_ENDPOINT, …) count, too.",
    },
    "The command line": {
        "HADASH_URL": "hadash's address; the default is http://127.0.0.1:8000.",
        "HADASH_TOKEN": "The token that it signs in with: the page *Your tokens* issues one.",
    },
}

#: Fields that hold a secret.
SECRETS = {("Access", "password"), ("Access", "old_password")}

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$")


@dataclass(frozen=True)
class Setting:
    """An environment variable, with its default as Python writes it."""

    name: str
    default: str
    is_secret: bool = False


@dataclass
class Entry:
    """Settings that one comment explains."""

    settings: list[Setting]
    text: str


def page() -> str:
    """The whole of ``docs/settings.md``."""
    lines = [
        "# Settings",
        "",
        *_wrapped(
            "Written by `docs/list_settings.py` from the code: do not edit. Settings come from the environment; each "
            "stands here with its default. A number of seconds may have a fraction; a flag is on with `1`, `true`, "
            "`yes` or `on`. A secret may lie in a file instead, which `<NAME>_FILE` names."
        ),
        "",
    ]
    for title, entries in sections():
        lines += [f"## {title}", ""]
        for entry in entries:
            lines += _bullet(entry)
        lines.append("")
    return "\n".join(lines)


def sections() -> Iterator[tuple[str, list[Entry]]]:
    """Yield the title and the entries of each section that has settings; each variable once, where it comes first."""
    known: set[str] = set()
    for title, entries in _all_sections():
        for entry in entries:
            entry.settings = [setting for setting in entry.settings if setting.name not in known]
            known |= {setting.name for setting in entry.settings}
        if new := [entry for entry in entries if entry.settings]:
            yield title, new


def _all_sections() -> Iterator[tuple[str, list[Entry]]]:
    for module, title in MODULES.items():
        yield title, _module((ROOT / module).read_text(encoding="utf-8"))
    for module, name, title, prefix in CLASSES:
        yield title, list(_fields((ROOT / module).read_text(encoding="utf-8"), name, prefix))
    for title, variables in IN_FUNCTIONS.items():
        yield title, [Entry([Setting(name, "")], text) for name, text in variables.items()]


def _module(source: str) -> list[Entry]:
    """The settings of a module."""
    entries: list[Entry] = []
    for statement, text in _explained(ast.parse(source).body, source.splitlines()):
        _add(entries, list(_read(statement)), text)
    return entries


def _fields(source: str, name: str, prefix: str) -> Iterator[Entry]:
    """Yield the settings of a class."""
    (found,) = (
        each for each in ast.parse(source).body if isinstance(each, ast.ClassDef) and each.name == name
    )
    entries: list[Entry] = []
    for statement, text in _explained(found.body, source.splitlines()):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        at = (name, statement.target.id)
        variable = NAMES.get(at, f"{prefix}{statement.target.id.upper()}")
        _add(entries, [Setting(variable, _field_default(statement.value), at in SECRETS)], text)
    yield from entries


def _explained(body: Iterable[ast.stmt], lines: list[str]) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each statement with the comment above it, or above the statements that it follows without a gap."""
    text = ""
    for statement in body:
        at = statement.lineno - 2  # the line above, from 0
        if at >= 0 and lines[at].strip() and not lines[at].strip().startswith("#"):
            yield statement, text
            continue
        comment: list[str] = []
        while at >= 0 and lines[at].strip().startswith("#:"):
            comment.insert(0, lines[at].strip().removeprefix("#:").strip())
            at -= 1
        text = " ".join(comment).replace("``", "`")
        yield statement, text


def _read(statement: ast.stmt) -> Iterator[Setting]:
    """Yield the variables that a statement reads."""
    for call in ast.walk(statement):
        if not isinstance(call, ast.Call) or (kind := ast.unparse(call.func)) not in READERS or not call.args:
            continue
        name = call.args[0]
        if isinstance(name, ast.Constant) and _VARIABLE.match(str(name.value)):
            default = _default(call.args[1]) if len(call.args) > 1 else ""
            yield Setting(str(name.value), default, kind == "secret")


def _add(entries: list[Entry], found: list[Setting], text: str) -> None:
    """Add settings, each variable once: to the last entry if the same comment explains them."""
    known = {each.name for entry in entries for each in entry.settings}
    new = [setting for setting in found if setting.name not in known]
    if not new:
        return
    if text and entries and entries[-1].text == text:
        entries[-1].settings += new
    else:
        entries.append(Entry(new, text))


def _field_default(value: ast.expr | None) -> str:
    """The default of a dataclass's field; empty when it is computed at run time."""
    if isinstance(value, ast.Call):
        given = [each.value for each in value.keywords if each.arg == "default"]
        return _default(given[0]) if given else ""
    return _default(value) if value is not None else ""


def _default(value: ast.expr) -> str:
    """A default as text: a product is multiplied, a text has no quotes. It is empty when it depends on other names:
    then the comment has to tell it.

    >>> _default(ast.parse("12 * 3600", mode="eval").body), _default(ast.parse("'UTC'", mode="eval").body)
    ('43200', 'UTC')
    """
    try:
        found = eval(ast.unparse(value), {"__builtins__": {}})
    except NameError:
        return ""
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, tuple | list):
        return ",".join(str(each) for each in found)
    return str(found)


def _bullet(entry: Entry) -> list[str]:
    names = []
    for setting in entry.settings:
        names.append(f"`{setting.name}`" + (f" = `{setting.default}`" if setting.default else ""))
        if setting.is_secret:
            names[-1] += " (secret)"
    text = ", ".join(names) + (f": {entry.text}" if entry.text else "")
    return textwrap.wrap(
        f"- {text}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
