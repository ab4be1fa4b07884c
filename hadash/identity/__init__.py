"""The identity of a Kafka client, and the cluster that it belongs to. Pure: no I/O, no Django (docs/background.md)."""
