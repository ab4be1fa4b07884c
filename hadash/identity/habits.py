"""How applications name their clients: default names of libraries, and the parts of a name that change with each
process. Pure.

The patterns mean the same in Python's and Java's regular expressions, because the jobs use them in Spark.
"""

from __future__ import annotations

import re

#: The names that libraries give a client by default: Java (also its consumers since 2.4, after their group),
#: librdkafka, Sarama, kafka-python, aiokafka, franz-go, KafkaJS, kafka-go, Kafka's own console tools.
LIBRARY_NAME = (
    r"^(producer-\d+|consumer-\d+|consumer-.+-\d+|adminclient-\d+|rdkafka|sarama|kgo|kafkajs"
    r"|(kafka-python|aiokafka)-(\d[\w.]*|producer-\d+|consumer-\d+)|kafka-go@.+|console-producer|console-consumer)$"
)

#: The parts of a name that change with each process, in the order in which they are searched: a UUID; the suffix that
#: Kubernetes adds to the name of a Deployment's pod; hexadecimal digits; numbers (of processes, replicas, times).
CHANGING_PARTS = (
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$",
    r"(?<![0-9a-zA-Z])[0-9a-fA-F]{8,}(?![0-9a-zA-Z])",
    r"\d+",
)

#: Words of a name that say what a client does, not which application it belongs to: a Deployment that reads and one
#: that writes may belong to one application.
ROLES = frozenset(
    {
        "consumer", "consumers", "consume", "reader", "readers", "read", "subscriber", "sub", "listener", "receiver",
        "input",
        "producer", "producers", "produce", "writer", "writers", "write", "publisher", "pub", "sender", "output",
        "client", "clients", "kafka",
    }
)  # fmt: skip

#: A word of a name: text between signs, or from one capital to the next ("cartReader").
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|[^\W\d_]+")

#: The placeholder for a changing part.
ANY = "*"


def is_library_name(client_id: str) -> bool:
    """Return whether the client has a library's default name, or none.

    >>> [is_library_name(name) for name in ("", "rdkafka", "consumer-audit-1", "orders-1")]
    [True, True, True, False]
    >>> [is_library_name(name) for name in ("aiokafka-producer-1", "kafka-python-2.0.2", "aiokafka-importer")]
    [True, True, False]
    """
    return not client_id or re.search(LIBRARY_NAME, client_id) is not None


def stem(client_id: str) -> str:
    """Return the name without the parts that change with each process; clients of one application share it.

    >>> stem("orders-1"), stem("orders-7d9f8b6c5d-x2x4q"), stem("orders-1f0e9a7b-3c4d-4e5f-8a9b-0c1d2e3f4a5b")
    ('orders-*', 'orders*', 'orders-*')
    >>> stem("orders-deadbeef01"), stem("facade")
    ('orders-*', 'facade')
    """
    for pattern in CHANGING_PARTS:
        client_id = re.sub(pattern, ANY, client_id)
    return client_id


def application_words(client_id: str) -> tuple[str, ...]:
    """Return the words of a name that belong to the application: without changing parts and without words for a role.

    The result is empty if no such word is left.

    >>> application_words("cart-reader-7d9f8b6c5d-x2x4q"), application_words("cartWriter_3")
    (('cart',), ('cart',))
    >>> application_words("consumer-01")
    ()
    >>> application_words("mall.Stock-HTTPApi"), application_words("购物-读取-1")
    (('mall', 'stock', 'http', 'api'), ('购物', '读取'))
    """
    words = (word.lower() for word in _WORD.findall(stem(client_id)))
    return tuple(word for word in words if word not in ROLES)
