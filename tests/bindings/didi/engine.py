"""DiDi's engine as far as it decides who may write, from docs/didi-engine.md 1.4 and 2; and what kills a writer.

Written from the text and independent of the code under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kazoo.client import KazooClient

from .conftest import ACTIVE, NUMBERS, Layout


class Killed(BaseException):
    """Nobody catches it, as nobody catches SIGKILL."""


def accepts(layout: Layout, cluster: str, user_node: str, client_node: str) -> bool:
    """Whether ``cluster`` takes this client's writes: its own node first, then its user's, then "it is mine"."""
    for node in (client_node, user_node):
        value = (layout.config(cluster, f"/config/users/{node}") or {}).get(ACTIVE)
        if value is not None:
            return value == str(NUMBERS[cluster])
    return True


def accepting(layout: Layout, user_node: str, client_node: str) -> list[str]:
    return [cluster for cluster in ("east", "west") if accepts(layout, cluster, user_node, client_node)]


@contextmanager
def around_commits(
    clients: list[KazooClient],
    *,
    before: Callable[[int], None] = lambda count: None,
    after: Callable[[int], None] = lambda count: None,
) -> Iterator[None]:
    """Call ``before`` and ``after`` each transaction of these clients, counted from 1 over all of them."""
    count = 0
    with pytest.MonkeyPatch.context() as patch:
        for client in clients:

            def transaction(make: Callable[[], Any] = client.transaction) -> Any:
                made = make()
                real = made.commit_async

                def commit() -> Any:
                    nonlocal count
                    count += 1
                    mine = count
                    before(mine)
                    answer = real()
                    answer.get()
                    after(mine)
                    return answer

                made.commit_async = commit
                return made

            patch.setattr(client, "transaction", transaction)
        yield
