"""hadash governs and performs active/standby switchover of Kafka clients."""

#: As in pyproject.toml; what Gateways and workers say of themselves.
VERSION = "0.1.0"
