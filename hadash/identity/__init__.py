"""Who a Kafka client is, and which cluster it belongs to. Pure: no I/O, no Django (docs/background.md)."""
