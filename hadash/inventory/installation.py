"""Claims a chroot of ZooKeeper for one installation: two that wrote bindings into the same one would undo each
other's switches.

Each installation has a random mark, made with its database. The first one that uses a chroot writes its mark
there, and no other writes to that chroot. Gateways need no mark: they obey the chroot that they are configured
with.
"""

from __future__ import annotations

import secrets
import time
from weakref import WeakKeyDictionary

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.bindings.errors import ForeignStore
from hadash.bindings.saving import begin_later, read_installation
from hadash.inventory.models import Installation
from hadash.sentences import say

#: Random bytes of a mark: enough that two installations never make the same one.
MARK_BYTES = 16

#: Seconds after which the chroot of a client is checked again: ZooKeeper may be emptied or restored while it is
#: used.
CLAIMED_SECONDS = 5.0

#: When the chroot of each client was last checked (``time.monotonic``).
_claimed: WeakKeyDictionary[KazooClient, float] = WeakKeyDictionary()


def mark() -> str:
    """Return this installation's mark."""
    made, _ = Installation.objects.get_or_create(pk=1, defaults={"mark": secrets.token_hex(MARK_BYTES)})
    found: str = made.mark
    return found


def claimed(client: KazooClient) -> KazooClient:
    """Return ``client`` after checking that its chroot is this installation's; a chroot without a mark is
    marked.

    :raises ForeignStore: the chroot is another installation's, or has lost changes.
    :raises StoreUnavailable: ZooKeeper does not answer.
    """
    if time.monotonic() - _claimed.get(client, -CLAIMED_SECONDS) < CLAIMED_SECONDS:
        return client
    own = mark()
    check_not_forgotten(client)
    with reaching():
        held = read_installation(client) or _write(client, own)
    if held != own:
        raise ForeignStore(
            say(
                "The chroot %(chroot)s of ZooKeeper is another installation's (its mark is %(held)s, this one's is "
                "%(own)s). Give this one a HADASH_ZOOKEEPER_CHROOT of its own. If the other one is no more, such as "
                "after its database was made again, take its chroot over: hadash-manage secure_zookeeper --adopt",
                chroot=client.chroot or "/",
                held=held,
                own=own,
            )
        )
    note_epoch(client)
    _claimed[client] = time.monotonic()
    return client


def epoch_of(client: KazooClient) -> int:
    """Return the last epoch of bindings that ZooKeeper has.

    :raises StoreUnavailable: it does not answer.
    """
    with reaching():
        try:
            return int(client.get(layout.EPOCH)[0] or b"0")
        except NoNodeError:
            return 0


def note_epoch(client: KazooClient) -> None:
    """Store the last epoch of ZooKeeper in the database. Called periodically.

    :raises StoreUnavailable: ZooKeeper does not answer.
    """
    epoch = epoch_of(client)
    Installation.objects.filter(pk=1, epoch__lt=epoch).update(epoch=epoch)


def seen_epoch() -> int:
    """Return the last epoch that was seen in ZooKeeper, from the database."""
    return Installation.objects.filter(pk=1).values_list("epoch", flat=True).first() or 0


def check_not_forgotten(client: KazooClient) -> None:
    """Check that ZooKeeper has all changes of bindings that were seen there.

    :raises ForeignStore: it has lost some: bindings written now would send clients to clusters that they have
        left.
    """
    seen = seen_epoch()
    if not seen or epoch_of(client) >= seen:
        return
    with reaching():
        client.sync("/")  # the server that answered may be behind the others
    epoch = epoch_of(client)
    if epoch < seen:
        raise ForeignStore(
            say(
                "ZooKeeper has forgotten changes of bindings: its last epoch at %(chroot)s is %(epoch)s, and %(seen)s "
                "was seen. Restore its newest backup with hadash-manage restore_zookeeper (docs/production.md). If "
                "what is there is what shall be, hadash-manage secure_zookeeper --adopt begins again with it.",
                chroot=client.chroot or "/",
                epoch=epoch,
                seen=seen,
            )
        )


def adopt(client: KazooClient) -> bool:
    """Make a chroot this installation's; return ``False`` when it is already. The user has to make sure that
    the other installation does not run any more.
    """
    own, seen = mark(), seen_epoch()
    behind = epoch_of(client) < seen
    with reaching():
        if (read_installation(client) or _write(client, own)) == own and not behind:
            return False
        client.set(layout.INSTALLATION, own.encode())
        if behind:
            # Engines that have seen later epochs ignore changes with earlier ones.
            begin_later(client, seen)
    note_epoch(client)
    return True


def _write(client: KazooClient, own: str) -> str:
    """Write the mark; return the mark that is there then: another installation may have been faster."""
    try:
        client.create(layout.INSTALLATION, own.encode())
    except NodeExistsError:
        return read_installation(client)
    return own
