"""hadash governs and performs active/standby switchover of Kafka clients."""

#: The version of the wheel; every process reports it.
VERSION = "0.1.0"
