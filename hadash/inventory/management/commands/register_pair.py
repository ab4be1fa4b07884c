"""``manage.py register_pair FILE``: two clusters and their pair, from a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hadash.bindings.errors import StoreUnavailable
from hadash.inventory.services import NotRegistered, register_cluster, register_pair

FIELDS = (
    "name",
    "number",
    "bootstrap_servers",
    "security_protocol",
    "sasl_mechanism",
    "admin_username",
    "admin_password",
    "mirror_username",
    "mirror_password",
)
#: And what may be missing.
OPTIONAL_FIELDS = ("zookeeper_hosts",)


class Command(BaseCommand):
    help = "Register two clusters and their pair from a JSON file; see docs/own-clusters.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        value = self._read(options["file"])
        try:
            clusters = {
                c["name"]: register_cluster(c["name"], c["number"], **self._fields(c))
                for c in value["clusters"]
            }
            first, second = clusters.values()
            register_pair(
                value["name"],
                first,
                second,
                clusters[value["default"]],
                dialect=value.get("dialect"),
                didi_zookeeper=value.get("didi_zookeeper"),
            )
        except (StoreUnavailable, NotRegistered) as error:
            raise CommandError(str(error)) from None
        for cluster in clusters.values():
            shown = cluster.fault or f"{len(cluster.brokers)} brokers, id {cluster.kafka_cluster_id}"
            self.stdout.write(f"{cluster.name}: {shown}")
        self.stdout.write(f"Pair {value['name']} is registered.")

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            names = [c["name"] for c in value["clusters"]]
            missing = [f"{c['name']}: {f}" for c in value["clusters"] for f in FIELDS if f not in c]
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
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
        known = {name: cluster[name] for name in FIELDS if name not in ("name", "number")}
        return known | {name: cluster[name] for name in OPTIONAL_FIELDS if name in cluster}
