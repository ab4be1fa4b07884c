"""The embedded stack of the demo, the tests and the benchmarks.

PostgreSQL, Redis, ZooKeeper, two Kafka clusters and Kafka Connect. All listen on 127.0.0.1, come from Python
packages and Maven Central, and are children of the process that started them.
"""
