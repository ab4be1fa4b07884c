"""The Kafka-protocol front door: the Forwarder routes, the Breaker blocks (DESIGN section 4). Imports no Django."""
