"""Reads and controls Kafka clusters and Kafka Connect. One module talks to each kind of server."""
