"""hadash governs and performs active/standby switchover of Kafka clients."""

#: Of the wheel, and what every process says of itself.
VERSION = "0.1.0"
