"""The Kafka-protocol front door: the Forwarder routes, the Breaker blocks (docs/gateway.md). Imports no Django."""
