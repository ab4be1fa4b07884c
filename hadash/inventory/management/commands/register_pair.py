"""``hadash-manage register_pair FILE``: registers two clusters and their pair from a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hadash.audit.models import record
from hadash.bindings.errors import StoreUnavailable
from hadash.inventory.changed_fields import sentences
from hadash.inventory.models import Cluster
from hadash.inventory.services import NotRegistered, register_cluster, register_pair

FIELDS = ("name", "number", "bootstrap_servers", "security_protocol")
#: The fields that SASL requires; without SASL the usernames are the names of hadash's principals.
SASL_FIELDS = ("sasl_mechanism", "admin_username", "admin_password", "mirror_username", "mirror_password")
#: The fields that are PEM text or {"file": "/path"}.
TLS_FIELDS = ("tls_ca", "tls_certificate", "tls_key")
#: The fields that may be missing.
OPTIONAL_FIELDS = ("zookeeper_hosts", *TLS_FIELDS)

#: The fields whose values are never shown, nor written to the audit log.
SECRETS = ("admin_password", "mirror_password", "tls_key")

#: The fields whose changes are reported without values: secrets, and PEM.
HIDDEN = {*SECRETS, *TLS_FIELDS}

#: The fields that may change: ``name`` identifies the cluster, and ``number`` never changes.
CHANGEABLE = tuple(f for f in (*FIELDS, *SASL_FIELDS, *OPTIONAL_FIELDS) if f not in ("name", "number"))

#: The actor for the audit log: nobody is signed in at a command line.
BY = "hadash-manage register_pair"


def _needed(cluster: dict[str, Any]) -> tuple[str, ...]:
    sasl = str(cluster.get("security_protocol", "SASL")).startswith("SASL")
    return (*FIELDS, *SASL_FIELDS) if sasl else FIELDS


def _text(value: Any, path: Path) -> str:
    """Return the text itself, or that of the named file; its path is relative to the folder of ``path``."""
    if isinstance(value, dict):
        return (path.parent / str(value["file"])).read_text(encoding="utf-8")
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no PEM text, nor a file")
    return value


def _told(cluster: Cluster) -> dict[str, Any]:
    """Return a cluster's fields for the audit log, without secrets."""
    told = (*FIELDS, *SASL_FIELDS, *OPTIONAL_FIELDS)
    return {name: getattr(cluster, name) for name in told if name not in SECRETS}


class Command(BaseCommand):
    help = "Register two clusters and their pair from a JSON file; see docs/own-clusters.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        value = self._read(options["file"])
        try:
            clusters = {c["name"]: self._register(c) for c in value["clusters"]}
            first, second = clusters.values()
            pair = register_pair(
                value["name"],
                first,
                second,
                clusters[value["default"]],
                dialect=value.get("dialect"),
                didi_zookeeper=value.get("didi_zookeeper"),
            )
            record(
                None,
                "pair registered",
                f"pair {pair.name}",
                by=BY,
                clusters=[first.name, second.name],
                default=value["default"],
                dialect=pair.dialect,
            )
        except (StoreUnavailable, NotRegistered) as error:
            raise CommandError(str(error)) from None
        for cluster in clusters.values():
            shown = cluster.fault or f"{len(cluster.brokers)} brokers, id {cluster.kafka_cluster_id}"
            self.stdout.write(f"{cluster.name}: {shown}")
        self.stdout.write(f"Pair {value['name']} is registered.")

    def _register(self, wanted: dict[str, Any]) -> Cluster:
        """Register one cluster, with an entry in the audit log: its fields before and after, and of its
        credentials only whether they changed.
        """
        before = Cluster.objects.filter(name=wanted["name"]).first()
        cluster = register_cluster(wanted["name"], wanted["number"], **self._fields(wanted))
        record(
            None,
            "cluster registered",
            f"cluster {cluster.name}",
            by=BY,
            before=_told(before) if before is not None else None,
            after=_told(cluster),
            credentials_changed=before is None
            or any(getattr(before, name) != getattr(cluster, name) for name in SECRETS),
        )
        if before is not None:
            was, now = ({name: getattr(one, name) for name in CHANGEABLE} for one in (before, cluster))
            for sentence in sentences(was, now, wanted, HIDDEN):
                self.stdout.write(f"{cluster.name}: {sentence}")
        return cluster

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            names = [c["name"] for c in value["clusters"]]
            missing = [f"{c['name']}: {f}" for c in value["clusters"] for f in _needed(c) if f not in c]
            for cluster in value["clusters"]:
                cluster |= {name: _text(cluster[name], path) for name in TLS_FIELDS if name in cluster}
        except OSError as error:
            raise CommandError(f"{error.filename or path} cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError) as error:
            raise CommandError(f"{path} is not as docs/own-clusters.md says: {error!r}.") from None
        if missing:
            raise CommandError(f"{path} lacks {', '.join(missing)}.")
        if len(set(names)) != 2 or value.get("default") not in names or not value.get("name"):
            raise CommandError(
                "A pair has a name, two clusters with different names, and one of them as default."
            )
        return value

    @staticmethod
    def _fields(cluster: dict[str, Any]) -> dict[str, Any]:
        return {name: cluster[name] for name in CHANGEABLE if name in cluster}
