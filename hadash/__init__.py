"""hadash governs and performs active/standby switchover of Kafka clients."""
