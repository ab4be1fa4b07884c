"""The last epoch that was in effect here, in the Gateway's own folder (``HADASH_GATEWAY_STATE``).

A Gateway that starts again reads from ZooKeeper what is in effect, and ZooKeeper may have been emptied or restored to
an older state meanwhile. Without this check the Gateway would send clients to clusters that they have left.
"""

from __future__ import annotations

import os
from pathlib import Path

NAME = "epoch"


class Behind(Exception):
    """ZooKeeper knows fewer changes than were in effect here. The message says what to do."""


def check(folder: Path, epoch: int) -> None:
    """Check that ZooKeeper has not lost changes.

    :param epoch: ZooKeeper's last epoch.
    :raises Behind: a later epoch was seen here, or it cannot be told which was.
    """
    path = folder / NAME
    try:
        seen = int(path.read_text())
    except FileNotFoundError:
        return  # the first start
    except (OSError, ValueError) as error:
        raise Behind(
            f"Which epoch was in effect here when this Gateway ran last cannot be read from {path} ({error}), so "
            f"nobody knows whether ZooKeeper has forgotten changes of bindings: its last epoch is {epoch}. Let the "
            "Gateway's user read the file. If it is damaged, and no older state of ZooKeeper has been restored, "
            "delete it."
        ) from None
    if epoch < seen:
        raise Behind(
            f"ZooKeeper has forgotten changes of bindings: its last epoch is {epoch}, and {seen} was in "
            f"effect here when this Gateway ran last. "
            "Restore ZooKeeper's newest backup with hadash-manage restore_zookeeper (docs/production.md). "
            "If what is there is what shall be, "
            f"delete {path}."
        )


def note(folder: Path, epoch: int) -> None:
    """Write the epoch atomically. Several processes of one Gateway share the folder: each has seen about the same."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    new = path.with_suffix(f".{os.getpid()}")
    with new.open("w") as file:
        file.write(str(epoch))
        # After a power cut the new name would stand for an empty file otherwise: just when ZooKeeper may be older, too.
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
