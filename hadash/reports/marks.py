"""The sign of a cluster in a text: ● for the first of its pair, ◆ for the second. A page, mail or PDF colours it in the
cluster's hue; a plain text tells both apart by it.
"""

from __future__ import annotations

import re

from hadash.inventory.models import Cluster, Pair

MARKS = {"first": "●", "second": "◆"}

#: Finds the marks in a text.
MARK = re.compile(f"[{''.join(MARKS.values())}](?= )")


def marked(cluster: Cluster, pair: Pair) -> str:
    """Return the name of one of the pair's clusters behind its mark.

    Only the keys of ``pair`` are read.
    """
    return f"{MARKS['first' if cluster.pk == pair.first_id else 'second']} {cluster.name}"


def unmarked(text: str) -> str:
    """Return a text without marks, as a file for programs has it.

    >>> unmarked("switch 7f: ● east → ◆ west")
    'switch 7f: east → west'
    """
    return re.sub(MARK.pattern + " ", "", text)
