"""What the rest of the program asks of an engine's bindings, whichever engine it is.

Two speak it: :mod:`hadash.bindings.native`, which hadash's own Gateway obeys, and :mod:`hadash.bindings.didi.dialect`,
which DiDi's brokers and Gateway obey. Nobody above this floor asks which one it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hadash.bindings.model import BindingDocument, Journal
from hadash.bindings.returning import ExpectedBack
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who has not put an epoch into effect, by name, and how many engines there are in all."""

    late: tuple[str, ...]
    engines: int
    #: Those that are late although they are excluded: their process runs all the same.
    excluded: tuple[str, ...] = ()


class Dialect(Protocol):
    """The bindings of one pair. Every method raises the errors of :mod:`hadash.bindings.errors` and no others."""

    def document(self, appid: str) -> BindingDocument:
        """What should be for one AppID; an empty document when nothing is bound."""
        ...

    def documents_now(self, appids: Iterable[str]) -> dict[str, BindingDocument]:
        """The same for several, in the time that one takes."""
        ...

    def all_documents(self) -> dict[str, BindingDocument | None]:
        """What should be, by AppID; ``None`` for a document that cannot be parsed."""
        ...

    def journal(self, switch_id: str) -> Journal | None:
        """The journal of a switch, ``None`` when it has none."""
        ...

    def take_over(self, switch_id: str, stage: str, token: int) -> Journal | None:
        """Make ``token`` the only one that may write for this switch; the journal as it was before."""
        ...

    def facts(self, switch_id: str) -> dict[str, Any]:
        """What the stages of a switch keep for each other; empty when nothing was kept."""
        ...

    def keep_facts(self, journal: Journal, values: Mapping[str, Any]) -> None:
        """Replace them. Refused when ``journal.token`` was replaced."""
        ...

    def blockers(self, identities: Sequence[Identity], cluster: str) -> list[Sentence]:
        """Why the engine could not move ``identities`` away from ``cluster``; nothing is written."""
        ...

    def change(
        self, edits: Sequence[Edit], journal: Journal | None = None, seen: Sequence[BindingDocument] = ()
    ) -> int:
        """Bind and unbind; the epoch of the change. Refused if a document is not as it was ``seen``. May be
        called again with the same edits at any time: it completes what an interrupted call left. After an
        error other than ``UnknownOutcome`` no engine was told anything new.
        """
        ...

    def waiting_for(self, epoch: int) -> Waiting:
        """Who has not put what :meth:`change` returned into effect yet."""
        ...

    def not_told(self, epoch: int) -> Waiting:
        """Who may not obey it yet. Whoever obeys sends nothing more to the old cluster; what it sent before
        may still be in flight there, which matters only as long as there is an old cluster.
        """
        ...

    def expected_back(self, appids: Collection[str], cluster: str) -> list[ExpectedBack]:
        """Which engines have gone whose clients, of one of ``appids``, may still send again what ``cluster`` has
        already: sent to another cluster it would be there twice."""
        ...
