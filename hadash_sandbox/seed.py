"""``python -m hadash_sandbox.seed``: put a world into the clusters and into hadash. Idempotent.

The world is the one that HADASH_SANDBOX_WORLD names; the default is the demo's. This program runs beside the stack,
with its environment, so that the stack's own process needs no Django.
"""

from __future__ import annotations

import json
import os
import sys

import django


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    from django.db import connection
    from django.db.migrations.loader import MigrationLoader

    from hadash_sandbox import mails, seeding  # has models, which need Django to be set up
    from hadash_sandbox.versions import strange
    from hadash_sandbox.worlds import world_named

    loader = MigrationLoader(connection)
    if strange(loader.applied_migrations, loader.disk_migrations):
        print(
            "This data was made by another version of hadash, and this one cannot read it. "
            "make demo-reset forgets it; the next make demo begins again.",
            file=sys.stderr,
        )
        return 1
    world = world_named(os.environ.get("HADASH_SANDBOX_WORLD", "demo"))
    described = json.loads(os.environ["HADASH_SANDBOX_CLUSTERS"])
    try:
        pair = seeding.register(os.environ.get("HADASH_GATEWAY_PAIR", "main"), described)
    except seeding.NotRegistered as error:
        print(error, file=sys.stderr)
        return 1
    seeding.put(world, pair)
    seeding.let_in(world, os.environ["HADASH_SANDBOX_PASSWORD"])
    mails.put(world, pair)
    return 0


if __name__ == "__main__":
    sys.exit(main())
