"""How applications name their clients: what libraries call those that nobody has named, and which part of a
name is made again for each process. Pure.

The patterns are written so that Python's and Java's regular expressions read them alike: the jobs use them in Spark.
"""

from __future__ import annotations

import re

#: What libraries call a client that nobody has named: Java (also its consumers since 2.4, after their group),
#: librdkafka, Sarama, kafka-python, aiokafka, franz-go, KafkaJS, kafka-go, Kafka's own console tools.
LIBRARY_NAME = (
    r"^(producer-\d+|consumer-\d+|consumer-.+-\d+|adminclient-\d+|rdkafka|sarama|kgo|kafkajs"
    r"|(kafka-python|aiokafka)-(\d[\w.]*|producer-\d+|consumer-\d+)|kafka-go@.+|console-producer|console-consumer)$"
)

#: What is made again for each process, in the order in which they are looked for: a UUID; what Kubernetes adds
#: to the name of a Deployment's pod; hexadecimal digits; numbers (of processes, replicas, times).
CHANGING_PARTS = (
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$",
    r"(?<![0-9a-zA-Z])[0-9a-fA-F]{8,}(?![0-9a-zA-Z])",
    r"\d+",
)

#: Words of a name that say what a client does, not for whom: a Deployment that reads and one that writes may
#: be one application's.
ROLES = frozenset(
    {
        "consumer", "consumers", "consume", "reader", "readers", "read", "subscriber", "sub", "listener", "receiver", "input",
        "producer", "producers", "produce", "writer", "writers", "write", "publisher", "pub", "sender", "output",
        "client", "clients", "kafka",
    }
)  # fmt: skip

#: A word of a name: between signs, or from one capital to the next ("cartReader").
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|[^\W\d_]+")

#: Stands for a changing part.
ANY = "*"


def is_library_name(client_id: str) -> bool:
    """Whether nobody has named the client.

    >>> [is_library_name(name) for name in ("", "rdkafka", "consumer-audit-1", "orders-1")]
    [True, True, True, False]
    >>> [is_library_name(name) for name in ("aiokafka-producer-1", "kafka-python-2.0.2", "aiokafka-importer")]
    [True, True, False]
    """
    return not client_id or re.search(LIBRARY_NAME, client_id) is not None


def stem(client_id: str) -> str:
    """The name without what is made again for each process: clients of one application have one.

    >>> stem("orders-1"), stem("orders-7d9f8b6c5d-x2x4q"), stem("orders-1f0e9a7b-3c4d-4e5f-8a9b-0c1d2e3f4a5b")
    ('orders-*', 'orders*', 'orders-*')
    >>> stem("orders-deadbeef01"), stem("facade")
    ('orders-*', 'facade')
    """
    for pattern in CHANGING_PARTS:
        client_id = re.sub(pattern, ANY, client_id)
    return client_id


def application_words(client_id: str) -> tuple[str, ...]:
    """What of a name is the application's: without what is made again for each process, and without words for
    a role. Nothing, if that is all there is.

    >>> application_words("cart-reader-7d9f8b6c5d-x2x4q"), application_words("cartWriter_3"), application_words("consumer-01")
    (('cart',), ('cart',), ())
    >>> application_words("mall.Stock-HTTPApi"), application_words("购物-读取-1")
    (('mall', 'stock', 'http', 'api'), ('购物', '读取'))
    """
    words = (word.lower() for word in _WORD.findall(stem(client_id)))
    return tuple(word for word in words if word not in ROLES)
