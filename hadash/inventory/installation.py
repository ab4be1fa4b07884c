"""Whose a chroot of ZooKeeper is: two installations that wrote bindings into one would undo each other's switches.

Each has a mark, made by chance with its database. The first one that uses a chroot leaves its mark there, and no
other writes to it. Gateways need no mark: they obey the chroot that they are told of.
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

#: Bytes of a mark: two installations do not make the same one.
MARK_BYTES = 16

#: Seconds for which it holds what was found of a client's chroot: somebody may empty ZooKeeper, or put it
#: back, while it is used.
CLAIMED_SECONDS = 5.0

#: When the chroot of each client was looked at (``time.monotonic``).
_claimed: WeakKeyDictionary[KazooClient, float] = WeakKeyDictionary()


def mark() -> str:
    """This installation's."""
    made, _ = Installation.objects.get_or_create(pk=1, defaults={"mark": secrets.token_hex(MARK_BYTES)})
    found: str = made.mark
    return found


def claimed(client: KazooClient) -> KazooClient:
    """The same client, when its chroot is this installation's: with its mark, or without any, and then it is marked.

    :raises ForeignStore: it is another's, or has lost what it had. :raises StoreUnavailable: ZooKeeper does not answer.
    """
    if time.monotonic() - _claimed.get(client, -CLAIMED_SECONDS) < CLAIMED_SECONDS:
        return client
    own = mark()
    check_not_forgotten(client)
    with reaching():
        held = read_installation(client) or _write(client, own)
    if held != own:
        raise ForeignStore(
            f"The chroot {client.chroot or '/'} of ZooKeeper is another installation's (its mark is {held}, "
            f"this one's is {own}). Give "
            "this one a HADASH_ZOOKEEPER_CHROOT of its own. If the other one is no more, such as after its "
            "database was made again, "
            "take its chroot over: hadash-manage secure_zookeeper --adopt"
        )
    note_epoch(client)
    _claimed[client] = time.monotonic()
    return client


def epoch_of(client: KazooClient) -> int:
    """The last epoch of bindings that ZooKeeper has. :raises StoreUnavailable: it does not answer."""
    with reaching():
        try:
            return int(client.get(layout.EPOCH)[0] or b"0")
        except NoNodeError:
            return 0


def note_epoch(client: KazooClient) -> None:
    """Remember how far ZooKeeper has come: called again and again. :raises StoreUnavailable: it does not answer."""
    epoch = epoch_of(client)
    Installation.objects.filter(pk=1, epoch__lt=epoch).update(epoch=epoch)


def seen_epoch() -> int:
    """The last epoch that was seen there."""
    return Installation.objects.filter(pk=1).values_list("epoch", flat=True).first() or 0


def check_not_forgotten(client: KazooClient) -> None:
    """:raises ForeignStore: ZooKeeper knows fewer changes of bindings than were seen there: whoever wrote
    bindings now would lead clients to clusters that they have left.
    """
    seen = seen_epoch()
    if not seen or epoch_of(client) >= seen:
        return
    with reaching():
        client.sync("/")  # the server that answered may be behind the others
    epoch = epoch_of(client)
    if epoch < seen:
        raise ForeignStore(
            f"ZooKeeper has forgotten changes of bindings: its last epoch at {client.chroot or '/'} is "
            f"{epoch}, and {seen} was seen. Restore its newest "
            "backup with hadash-manage restore_zookeeper (docs/production.md). If what is there is what shall be, "
            "hadash-manage secure_zookeeper --adopt begins again with it."
        )


def adopt(client: KazooClient) -> bool:
    """Make a chroot this installation's; false when it is already. Two installations that adopt in turn are two
    that write."""
    own, seen = mark(), seen_epoch()
    behind = epoch_of(client) < seen
    with reaching():
        if (read_installation(client) or _write(client, own)) == own and not behind:
            return False
        client.set(layout.INSTALLATION, own.encode())
        if behind:
            # Engines that have seen later changes take no notice of what comes with earlier numbers.
            begin_later(client, seen)
    note_epoch(client)
    return True


def _write(client: KazooClient, own: str) -> str:
    """Whose mark it is then: somebody may be faster."""
    try:
        client.create(layout.INSTALLATION, own.encode())
    except NodeExistsError:
        return read_installation(client)
    return own
