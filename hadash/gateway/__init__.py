"""The proxy for the Kafka protocol: it routes and blocks clients' requests (docs/gateway.md). Imports no Django."""
