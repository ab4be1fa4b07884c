"""Taking over nodes that were made before hadash had credentials: afterwards they are its user's alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.security import ACL


@dataclass(slots=True)
class Secured:
    """What became of the nodes below a chroot: numbers, and the paths of those that stay as they are."""

    changed: int = 0
    already: int = 0
    refused: list[str] = field(default_factory=list)


def secure(client: KazooClient, acl: list[ACL]) -> Secured:
    """Give every node below the client's chroot, and the chroot itself, exactly this ACL. May be repeated: what is so
    already is left alone. A node that somebody else protects is named as refused, with what is below it if that
    cannot be listed."""
    found = Secured()
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        try:
            held, _ = client.get_acls(path)
            if list(held) == list(acl):
                found.already += 1
            else:
                client.set_acls(path, acl)
                found.changed += 1
            waiting += [
                f"{path.rstrip('/')}/{child}" for child in sorted(client.get_children(path), reverse=True)
            ]
        except NoAuthError:
            found.refused.append(path)
        except NoNodeError:
            continue  # it was removed meanwhile
    return found
