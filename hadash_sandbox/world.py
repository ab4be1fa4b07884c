"""The demo's world: AppIDs, Topics, ACLs, mirrors, people and the clients that run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClientSpec:
    """One client process."""

    name: str
    #: produce or consume.
    role: str
    appid: str
    topics: tuple[str, ...]
    client_id: str = ""
    group: str = ""
    mechanism: str = "PLAIN"
    config: tuple[str, ...] = ()
    #: librdkafka, fleet, or one of hadash_sandbox.clients.libraries.
    library: str = "librdkafka"


@dataclass(frozen=True, slots=True)
class World:
    """What is seeded.

    - ``topics``: their numbers of partitions; ``mirrors``: the Topics of each;
    - ``prefixes``: by AppID, the prefix of the Topics and groups that it owns;
    - ``reads``: by AppID, other Topics that it may read;
    - ``owners`` and ``instances`` (InstanceIDs): by AppID; ``people``: role and full name by username;
    - ``brokers``: how many each cluster has, and how many replicas each partition;
    - ``users``: AppIDs with their passwords, besides the demo's;
    - ``shifted``: Topics whose first records on the first cluster were deleted before their mirror began.
    """

    topics: dict[str, int]
    mirrors: dict[str, tuple[str, ...]]
    prefixes: dict[str, str]
    reads: dict[str, tuple[str, ...]]
    owners: dict[str, str]
    instances: dict[str, tuple[str, ...]]
    clients: tuple[ClientSpec, ...]
    people: dict[str, tuple[str, str]] = field(default_factory=dict)
    brokers: int = 1
    users: dict[str, str] = field(default_factory=dict)
    shifted: frozenset[str] = frozenset()


_SCRAM = "SCRAM-SHA-512"

#: ``shop`` is shared by several applications: two have an InstanceID each and can move alone, one has none.
#: ``billing`` belongs to one team and moves as a whole. ``audit`` reads what ``shop`` writes, so ``shop`` as a
#: whole cannot move without it.
DEMO = World(
    topics={"shop.carts": 3, "shop.stock": 3, "shop.clicks": 3, "billing.invoices": 3, "billing.payments": 3},
    mirrors={
        "carts": ("shop.carts",),
        "stock": ("shop.stock",),
        "clicks": ("shop.clicks",),
        "billing": ("billing.invoices", "billing.payments"),
    },
    prefixes={"shop": "shop.", "billing": "billing.", "audit": "audit."},
    reads={"audit": ("shop.clicks",)},
    owners={"shop": "Web shop team", "billing": "Billing team", "audit": "Compliance"},
    instances={"shop": ("shop-carts", "shop-stock"), "billing": (), "audit": ("audit-clicks",)},
    clients=(
        ClientSpec("carts-writer", "produce", "shop", ("shop.carts",), "shop-carts"),
        ClientSpec("carts-pricing", "consume", "shop", ("shop.carts",), "shop-carts", "shop.carts.pricing"),
        ClientSpec("stock-writer", "produce", "shop", ("shop.stock",), "shop-stock"),
        ClientSpec("stock-sync-1", "consume", "shop", ("shop.stock",), "shop-stock", "shop.stock.sync"),
        ClientSpec("stock-sync-2", "consume", "shop", ("shop.stock",), "shop-stock", "shop.stock.sync"),
        ClientSpec("clicks-writer", "produce", "shop", ("shop.clicks",)),
        ClientSpec(
            "audit-clicks", "consume", "audit", ("shop.clicks",), "audit-clicks", "audit.clicks", _SCRAM
        ),
        ClientSpec(
            "invoice-writer", "produce", "billing", ("billing.invoices",), "billing-invoices", "", _SCRAM
        ),
        ClientSpec(
            "payment-writer", "produce", "billing", ("billing.payments",), "billing-payments", "", _SCRAM
        ),
        ClientSpec(
            "ledger-1",
            "consume",
            "billing",
            ("billing.invoices", "billing.payments"),
            "billing-ledger-1",
            "billing.ledger",
            _SCRAM,
        ),
        ClientSpec(
            "ledger-2",
            "consume",
            "billing",
            ("billing.invoices", "billing.payments"),
            "billing-ledger-2",
            "billing.ledger",
            _SCRAM,
        ),
    ),
    people={
        "olga": ("operator", "Olga Operator"),
        "arne": ("approver", "Arne Approver"),
        "bea": ("approver", "Bea Approver"),
        "rita": ("rescuer", "Rita Rescuer"),
        "ada": ("administrator", "Ada Administrator"),
    },
)


def _faulted(what: str, group: str) -> tuple[ClientSpec, ClientSpec]:
    topics, instance = (f"shop.{what}",), f"shop-{what}"
    # An application that must not write a record twice when a broker or a Gateway dies has to set this, with or
    # without hadash.
    config = ("enable.idempotence=true",)
    return (
        ClientSpec(f"{what}-writer", "produce", "shop", topics, instance, config=config),
        ClientSpec(f"{what}-{group}", "consume", "shop", topics, instance, f"shop.{what}.{group}"),
    )


#: The world of ``make fault``: an InstanceID that moves, and one that stays. It has two brokers, because the only
#: broker of a cluster says for a moment after its start that its Topics do not exist, and clients believe it.
FAULTS = World(
    topics={"shop.carts": 3, "shop.stock": 3},
    mirrors={"carts": ("shop.carts",), "stock": ("shop.stock",)},
    prefixes={"shop": "shop."},
    reads={},
    owners={"shop": "Web shop team"},
    instances={"shop": ("shop-carts", "shop-stock")},
    clients=(*_faulted("carts", "pricing"), *_faulted("stock", "sync")),
    people=DEMO.people,
    brokers=2,
)

WORLDS = {"demo": DEMO, "faults": FAULTS}

#: InstanceIDs of a batch that have a librdkafka client each (writers, then readers); two fleets have all others.
BATCH_WRITERS, BATCH_READERS = 6, 6
#: Seconds between two writes of one client of a fleet.
FLEET_SECONDS = 10.0
_SALES, _STOCK = "shop.sales", "shop.stock"
#: The readers' groups with their Topics; the last one reads both.
_BATCH_GROUPS = {"books": (_SALES,), "shelves": (_STOCK,), "prices": (_SALES, _STOCK)}


def till(number: int) -> str:
    """The InstanceID of a till, from 1.

    >>> till(12)
    'till-0012'
    """
    return f"till-{number:04}"


def batch(instances: int) -> World:
    """A world with one AppID whose ``instances`` InstanceIDs share two Topics, so that none moves without the others.

    Each is the client.id of one connected client. ``instances`` is at least :data:`BATCH_WRITERS` +
    :data:`BATCH_READERS` + 2.
    """
    # With several requests in flight, librdkafka reorders the records that it sends again unless it is idempotent.
    # (A client of a fleet has one in flight.)
    ordered = ("enable.idempotence=true",)
    writers = [
        ClientSpec(f"writer-{n}", "produce", "shop", ((_SALES, _STOCK)[n % 2],), till(n), config=ordered)
        for n in range(1, BATCH_WRITERS + 1)
    ]
    groups = list(_BATCH_GROUPS.items())
    readers = []
    for place in range(BATCH_READERS):
        name, topics = groups[place % len(groups)]
        client_id = till(BATCH_WRITERS + place + 1)
        readers.append(
            ClientSpec(f"reader-{place + 1}", "consume", "shop", topics, client_id, f"shop.{name}")
        )
    first = BATCH_WRITERS + BATCH_READERS + 1
    middle = first + (instances - first + 1) // 2
    fleets = [
        _fleet("fleet-sales", _SALES, first, middle - 1),
        _fleet("fleet-stock", _STOCK, middle, instances),
    ]
    return World(
        topics={_SALES: 3, _STOCK: 3},
        mirrors={"shop": (_SALES, _STOCK)},
        prefixes={"shop": "shop."},
        reads={},
        owners={"shop": "Web shop team"},
        instances={"shop": tuple(till(number) for number in range(1, instances + 1))},
        clients=(*writers, *readers, *fleets),
        people=DEMO.people,
    )


def _fleet(name: str, topic: str, first: int, last: int) -> ClientSpec:
    """One process that runs the clients of the tills ``first`` to ``last``."""
    config = (f"first={first}", f"last={last}", f"seconds={FLEET_SECONDS}")
    return ClientSpec(name, "produce", "shop", (topic,), config=config, library="fleet")


def acls(world: World) -> Iterable[tuple[str, str, str, str, str]]:
    """(resource type, name, pattern, AppID, operation) of every rule that the world's AppIDs need."""
    for appid, prefix in world.prefixes.items():
        for operation in ("READ", "WRITE", "DESCRIBE"):
            yield "TOPIC", prefix, "PREFIXED", appid, operation
        yield "GROUP", prefix, "PREFIXED", appid, "READ"
    for appid, topics in world.reads.items():
        for topic in topics:
            yield "TOPIC", topic, "LITERAL", appid, "READ"
            yield "TOPIC", topic, "LITERAL", appid, "DESCRIBE"
