"""How applications name their clients: what libraries call those that nobody has named, and which part of a name is made anew for
each process. Pure.

The patterns are written so that Python's and Java's regular expressions read them alike: the jobs use them in Spark.
"""

from __future__ import annotations

import re

#: What libraries call a client that nobody has named: Java (also its consumers since 2.4, after their group), librdkafka,
#: Sarama, kafka-python, franz-go, KafkaJS, Kafka's own console tools.
LIBRARY_NAME = (
    r"^(producer-\d+|consumer-\d+|consumer-.+-\d+|adminclient-\d+|rdkafka|sarama|kafka-python-[\w.]+|kgo|kafkajs"
    r"|console-producer|console-consumer)$"
)

#: What is made anew for each process, in the order in which they are looked for: a UUID; what Kubernetes adds to the name of a
#: Deployment's pod; hexadecimal digits; numbers (of processes, replicas, times).
CHANGING_PARTS = (
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$",
    r"(?<![0-9a-zA-Z])[0-9a-fA-F]{8,}(?![0-9a-zA-Z])",
    r"\d+",
)

#: Stands for a changing part.
ANY = "*"


def is_library_name(client_id: str) -> bool:
    """Whether nobody has named the client.

    >>> [is_library_name(name) for name in ("", "rdkafka", "consumer-audit-1", "orders-1")]
    [True, True, True, False]
    """
    return not client_id or re.search(LIBRARY_NAME, client_id) is not None


def stem(client_id: str) -> str:
    """The name without what is made anew for each process: clients of one application have one.

    >>> stem("orders-1"), stem("orders-7d9f8b6c5d-x2x4q"), stem("orders-1f0e9a7b-3c4d-4e5f-8a9b-0c1d2e3f4a5b")
    ('orders-*', 'orders*', 'orders-*')
    >>> stem("orders-deadbeef01"), stem("facade")
    ('orders-*', 'facade')
    """
    for pattern in CHANGING_PARTS:
        client_id = re.sub(pattern, ANY, client_id)
    return client_id
