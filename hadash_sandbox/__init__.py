"""The embedded stack of the demo, the tests and the benchmarks.

PostgreSQL, Redis, ZooKeeper, two Kafka clusters and Kafka Connect, all on 127.0.0.1, all from
Python packages and Maven Central, all children of the process that started them.
"""
