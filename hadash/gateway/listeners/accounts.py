"""Accounts that a Gateway signs in with itself: its own for look-ups, and those of AppIDs that bring no password.

A client that signs in with SASL needs no account: its exchange is relayed. The accounts are in a file of their own
(``HADASH_GATEWAY_ACCOUNTS``), which no other user may read::

    [lookup.east]                      # describes Topics and groups of cluster east, nothing more
    mechanism = "SCRAM-SHA-512"
    username = "hadash-gateway"
    password = "..."

    [appids.shop.east]                 # AppID shop connects with a client certificate, or with its client.id alone
    mechanism = "SCRAM-SHA-512"
    username = "shop"
    password = "..."

On a cluster without SASL (security protocol SSL), which identifies its clients by their certificates, an AppID's
account is a certificate::

    [appids.shop.west]
    certificate = "/etc/hadash/shop.pem"    # with the authorities between it and the root
    key = "/etc/hadash/shop.key"

An AppID that may be used without any authentication, on a PLAINTEXT listener, is marked::

    [appids.shop]
    unauthenticated = true
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class BadAccounts(ValueError):
    """The file cannot be used. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """The credentials for signing in to one cluster."""

    mechanism: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The certificate that identifies a client on a cluster without SASL, as PEM files."""

    certificate: str
    key: str


@dataclass(frozen=True, slots=True)
class Accounts:
    """The accounts by cluster, and by AppID and cluster."""

    lookup: Mapping[str, Account] = field(default_factory=dict)
    appids: Mapping[str, Mapping[str, Account]] = field(default_factory=dict)
    #: The AppIDs that any client may use that reaches a PLAINTEXT listener.
    unauthenticated: frozenset[str] = frozenset()
    #: By AppID and cluster.
    certificates: Mapping[tuple[str, str], CertificateFiles] = field(default_factory=dict)

    def of(self, appid: str, cluster: str) -> Account | None:
        """Return an AppID's account on a cluster; ``None`` if it has none there."""
        return self.appids.get(appid, {}).get(cluster)


def read_accounts(path: str) -> Accounts:
    """Return the accounts in the file at ``path``; none for an empty path.

    :raises BadAccounts: the file cannot be read, other users can read it, or an account in it is not complete.
    """
    if not path:
        return Accounts()
    file = Path(path)
    try:
        readable = stat.S_IMODE(file.stat().st_mode) & 0o077
        values = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadAccounts(f"HADASH_GATEWAY_ACCOUNTS={path} cannot be read ({error}).") from None
    if readable:
        raise BadAccounts(
            f"HADASH_GATEWAY_ACCOUNTS={path} holds passwords and can be read by others: chmod 600 {path}."
        )
    unknown = sorted(set(values) - {"lookup", "appids"})
    if unknown:
        raise BadAccounts(f"{path} has a section {unknown[0]!r}; it may have lookup and appids only.")
    appids: dict[str, dict[str, Account]] = {}
    certificates = {}
    unauthenticated = set()
    for appid, value in _table(values.get("appids", {}), f"{path}: appids").items():
        entries = dict(_table(value, f"{path}: appids.{appid}"))
        if entries.pop("unauthenticated", False) is True:
            unauthenticated.add(appid)
        for cluster, entry in list(entries.items()):
            if isinstance(entry, dict) and ("certificate" in entry or "key" in entry):
                where = f"{path}: appids.{appid}.{cluster}"
                certificates[appid, cluster] = _certificate(entries.pop(cluster), where)
        appids[appid] = _accounts(entries, f"{path}: appids.{appid}")
    lookup = _accounts(values.get("lookup", {}), f"{path}: lookup")
    return Accounts(lookup, appids, frozenset(unauthenticated), certificates)


def _accounts(values: Any, where: str) -> dict[str, Account]:
    return {
        cluster: _account(value, f"{where}.{cluster}") for cluster, value in _table(values, where).items()
    }


def _account(value: Any, where: str) -> Account:
    table = _table(value, where)
    for name in ("mechanism", "username", "password"):
        if not isinstance(table.get(name), str) or not table[name]:
            raise BadAccounts(f"{where} has no {name}: an account is mechanism, username and password.")
    if table["mechanism"] not in MECHANISMS:
        raise BadAccounts(f"{where}: mechanism {table['mechanism']!r} is none of {', '.join(MECHANISMS)}.")
    return Account(table["mechanism"], table["username"], table["password"])


def _certificate(table: dict[str, Any], where: str) -> CertificateFiles:
    for name in ("certificate", "key"):
        if not isinstance(table.get(name), str) or not table[name]:
            raise BadAccounts(
                f"{where} has no {name}: on a cluster without SASL an account is certificate and key."
            )
    if set(table) != {"certificate", "key"}:
        raise BadAccounts(f"{where} has a certificate and more: an account is either that or a password.")
    return CertificateFiles(table["certificate"], table["key"])


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadAccounts(f"{where} is not a table.")
    return value
