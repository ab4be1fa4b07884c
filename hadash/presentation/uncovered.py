"""The clients that are not registered, AppID by AppID, with a text for their owner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from urllib.parse import quote

from django.db.models import F, QuerySet
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.governance import selectors
from hadash.governance.models.published import AdviceStep, Coverage, Edge
from hadash.governance.models.runs import Run
from hadash.inventory.models import AppID, InstanceID

#: Most names of clients in a text; of the others it has the number.
NAMED = 20

#: Most characters of a mailto: address that every mail program accepts.
MAX_MAILTO = 1800


@dataclass(frozen=True, slots=True)
class Client:
    """A client that is not registered. ``name`` is empty for those without a client.id."""

    name: str
    hosts: int

    @property
    def remedy(self) -> str:
        """What is to be done about it, in the viewer's language."""
        if self.name:
            return _("Register this client.id as an InstanceID.")
        return _("Set a client.id that stays the same at each start, then register it.")


@dataclass(frozen=True, slots=True)
class Uncovered:
    """An AppID with clients that are not registered. ``before`` and ``after``: how many things move together at
    most, before and after they are registered, by the work list; ``None`` when the AppID is not on that list, as
    registering them would break up nothing. ``address``: the owner's mail address, and ``language`` the one that the
    owner reads; empty when nobody has said.
    """

    pair: str
    appid: str
    owner: str
    pk: int | None
    seen: int
    missing: int
    clients: tuple[Client, ...]
    before: int | None = None
    after: int | None = None
    address: str = ""
    language: str = ""

    @property
    def named(self) -> list[Client]:
        return [client for client in self.clients if client.name]

    @property
    def nameless(self) -> bool:
        """Whether some clients have no client.id: they need one before they can be registered."""
        return any(not client.name for client in self.clients)

    @property
    def subject(self) -> str:
        with self._in_their_language():
            return _("Kafka clients of %(appid)s that cannot be moved by themselves") % {"appid": self.appid}

    @property
    def text(self) -> str:
        """The text for the owner, in the owner's language, or else the viewer's."""
        return self.text_with(NAMED)

    def text_with(self, most: int) -> str:
        """Return the text for the owner. :param most: names at most; the text has the number of the others."""
        with self._in_their_language():
            return self._text_with(most)

    def _in_their_language(self) -> AbstractContextManager[None]:
        return translation.override(self.language) if self.language else nullcontext()

    def _text_with(self, most: int) -> str:
        parts = [
            ngettext(
                "%(missing)s of %(seen)s Kafka client of AppID %(appid)s is not registered as an InstanceID.",
                "%(missing)s of %(seen)s Kafka clients of AppID %(appid)s are not registered as InstanceIDs.",
                self.seen,
            )
            % {"missing": self.missing, "seen": self.seen, "appid": self.appid},
            _(
                "Clients that are not registered can be switched to the other cluster only together with all that "
                "use the AppID."
            ),
        ]
        if self.before is not None and self.after is not None:
            parts.append(
                _("With them registered, %(after)s things move together at most instead of %(before)s.")
                % {"before": f"{self.before:,}", "after": f"{self.after:,}"}
            )
        if named := self.named:
            parts.append(
                _(
                    "Please confirm that each of these client.ids is one application that keeps its name "
                    "when it starts "
                    "again, so that we can register it:"
                )
            )
            parts.append("\n".join(f"- {client.name}" for client in named[:most]))
            if len(named) > most:
                parts.append(_("and %(count)s more.") % {"count": len(named) - most})
        if self.nameless:
            parts.append(
                _(
                    "Some clients have no client.id. Please set client.id to a name that is theirs alone and "
                    "stays the same."
                )
            )
        return "\n\n".join(parts)

    @property
    def mailto(self) -> str:
        """A ``mailto:`` link with the text; addressed to the owner if an address is known. It has as many names as mail
        programs accept (a Chinese character takes nine letters of an address), or only the subject when not even one
        fits: the text that can be copied has more.
        """
        to = self.address or (self.owner if "@" in self.owner and " " not in self.owner else "")
        subject = f"mailto:{quote(to)}?subject={quote(self.subject)}"
        for most in range(min(NAMED, len(self.named)), 0, -1) if self.named else [0]:
            body = quote(self.text_with(most))
            address = f"{subject}&body={body}"
            if len(address) <= MAX_MAILTO:
                return address
        return subject


def rows_of(pairs: Sequence[str], query: str = "") -> QuerySet[Coverage]:
    """Return the AppIDs of the last run with unregistered clients, those with the most first."""
    rows = selectors.rows(Coverage, selectors.published(Run.Job.COVERAGE), pairs)
    rows = rows.filter(registered__lt=F("clients"))
    if query:
        rows = rows.filter(appid__icontains=query)
    return rows.order_by((F("registered") - F("clients")).asc(), "pair", "appid")


def with_clients(rows: Iterable[Coverage]) -> list[Uncovered]:
    """Return some of these AppIDs with their unregistered clients. Five queries for any number."""
    shown = list(rows)
    names = {row.appid for row in shown}
    pairs = {row.pair for row in shown}
    known = {(a.pair.name, a.name): a for a in AppID.objects.filter(name__in=names).select_related("pair")}
    registered: set[tuple[str, str, str]] = set(
        InstanceID.objects.filter(appid__name__in=names).values_list(
            "appid__pair__name", "appid__name", "name"
        )
    )
    clients: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    edges = selectors.rows(Edge, selectors.published(Run.Job.TOPOLOGY), pairs).filter(appid__in=names)
    for pair, appid, client, hosts in edges.values_list("pair", "appid", "client_id", "hosts"):
        name = client or ""
        if (pair, appid, name) not in registered:
            own = clients[pair, appid]
            own[name] = max(own.get(name, 0), hosts)
    steps = {
        (step.pair, step.appid): step
        for step in selectors.rows(AdviceStep, selectors.published(Run.Job.ADVICE), pairs).filter(
            appid__in=names
        )
    }
    found = []
    for row in shown:
        key = (row.pair, row.appid)
        appid, step = known.get(key), steps.get(key)
        own = clients[key]
        found.append(
            Uncovered(
                row.pair,
                row.appid,
                appid.owner if appid else "",
                appid.pk if appid else None,
                row.clients,
                row.clients - row.registered,
                tuple(Client(name, own[name]) for name in sorted(own, key=lambda n: (n == "", n))),
                step.before if step else None,
                step.after if step else None,
            )
        )
    return found


#: The columns of the CSV, which has a row per client.
COLUMNS = (
    "pair", "appid", "owner", "client_id", "hosts", "moves_together_before", "moves_together_after", "what_to_do",
)  # fmt: skip

#: AppIDs per read for the CSV.
_AT_ONCE = 500


def csv_rows(rows: QuerySet[Coverage]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the CSV for all unregistered clients of these AppIDs."""
    keys = list(rows.values_list("pk", flat=True))
    for begin in range(0, len(keys), _AT_ONCE):
        part = rows.filter(pk__in=keys[begin : begin + _AT_ONCE])
        for each in with_clients(part):
            for client in each.clients:
                yield (
                    each.pair, each.appid, each.owner, client.name, client.hosts, each.before, each.after,
                    client.remedy,
                )  # fmt: skip
