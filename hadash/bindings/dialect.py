"""The interface to an engine's bindings, the same for every engine.

There are two implementations: :mod:`hadash.bindings.native`, which hadash's own Gateway obeys, and
:mod:`hadash.bindings.didi.dialect`, which DiDi's brokers and Gateway obey. No caller checks which one it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hadash.bindings.model import BindingDocument, Journal
from hadash.bindings.pending_retries import ExpectedBack
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Waiting:
    """The names of the engines that have not put an epoch into effect, and how many engines there are in all."""

    late: tuple[str, ...]
    engines: int
    #: Late engines that are excluded: their process runs nevertheless.
    excluded: tuple[str, ...] = ()


class Dialect(Protocol):
    """The bindings of one pair. Every method raises the errors of :mod:`hadash.bindings.errors` and no others."""

    def document(self, appid: str) -> BindingDocument:
        """The intended bindings of one AppID; an empty document when nothing is bound."""
        ...

    def documents_now(self, appids: Iterable[str]) -> dict[str, BindingDocument]:
        """The intended bindings of several AppIDs, in the time that one takes."""
        ...

    def all_documents(self) -> dict[str, BindingDocument | None]:
        """All intended bindings by AppID; ``None`` for a document that cannot be parsed."""
        ...

    def journal(self, switch_id: str) -> Journal | None:
        """The journal of a switch, ``None`` when it has none."""
        ...

    def take_over(self, switch_id: str, stage: str, token: int) -> Journal | None:
        """Make ``token`` the only one that may write for this switch, and return the journal as it was before."""
        ...

    def facts(self, switch_id: str) -> dict[str, Any]:
        """The facts that the stages of a switch keep for each other; empty when nothing was kept."""
        ...

    def keep_facts(self, journal: Journal, values: Mapping[str, Any]) -> None:
        """Replace the facts of a switch. Refused when ``journal.token`` was replaced."""
        ...

    def blockers(self, identities: Sequence[Identity], cluster: str) -> list[Sentence]:
        """The reasons why the engine could not move ``identities`` away from ``cluster``; writes nothing."""
        ...

    def change(
        self, edits: Sequence[Edit], journal: Journal | None = None, seen: Sequence[BindingDocument] = ()
    ) -> int:
        """Bind and unbind, and return the epoch of the change.

        Refused if a document differs from what was ``seen``. May be called again with the same edits at any time: it
        completes what an interrupted call left. After an error other than ``UnknownOutcome`` no engine was told
        anything new.
        """
        ...

    def waiting_for(self, epoch: int) -> Waiting:
        """The engines that have not put the change of ``epoch``, which :meth:`change` returned, into effect yet."""
        ...

    def not_told(self, epoch: int) -> Waiting:
        """The engines that may not obey the change of ``epoch`` yet.

        An engine that obeys sends nothing more to the old cluster. What it sent before may still be in flight there,
        which matters only as long as the old cluster exists.
        """
        ...

    def expected_back(self, appids: Collection[str], cluster: str) -> list[ExpectedBack]:
        """The engines that are gone and whose clients, of one of ``appids``, may still send again what ``cluster``
        already has. If those records went to another cluster, they would exist twice."""
        ...
