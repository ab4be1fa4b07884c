"""Taking over nodes that were created before hadash had credentials: afterwards they belong to its user alone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.security import ACL


@dataclass(slots=True)
class Secured:
    """The result for the nodes below a chroot: how many, and the paths of those that could not be changed."""

    changed: int = 0
    already: int = 0
    refused: list[str] = field(default_factory=list)


def secure(client: KazooClient, acl: list[ACL]) -> Secured:
    """Give the client's chroot and every node below it exactly this ACL.

    May be repeated: nodes that already have it are left alone. A node that another user protects is listed as refused;
    the nodes below it are visited all the same, if they can be listed.
    """
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
        except NoAuthError:
            found.refused.append(path)
        except NoNodeError:
            continue  # the node was removed meanwhile
        with suppress(NoAuthError, NoNodeError):
            children = sorted(client.get_children(path), reverse=True)
            waiting += [f"{path.rstrip('/')}/{child}" for child in children]
    return found
