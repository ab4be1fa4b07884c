"""``python -m hadash_sandbox.fleet``: adds a generated fleet to the hadash that the environment names."""

from __future__ import annotations

import argparse
import os
import sys

import django


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    parser = argparse.ArgumentParser(prog="python -m hadash_sandbox.fleet", description=__doc__)
    parser.add_argument("--appids", type=int, default=10_000)
    parser.add_argument("--looked-at", type=int, nargs="*", help="how many days ago jobs looked at it")
    told = parser.parse_args()
    django.setup()
    from hadash_sandbox.errors import SandboxError
    from hadash_sandbox.fleet import filling  # has models, which need Django to be set up
    from hadash_sandbox.fleet.model import Side, Size

    ages = filling.LOOKED_AT if told.looked_at is None else tuple(told.looked_at)
    try:
        filling.fill(Size(told.appids), Side(), ages, lambda text: print(text, flush=True))
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
