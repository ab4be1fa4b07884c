"""``python -m hadash_sandbox.recording.snapshot LAKE``: takes a snapshot now, as the pipeline's job does."""

from __future__ import annotations

import os
import sys

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    django.setup()
    from hadash.lake.store import Store
    from hadash.pipeline import collecting  # has models, which need Django to be set up

    collecting.take(Store(sys.argv[1]))


if __name__ == "__main__":
    main()
