"""What several tests share: the stack's addresses, raw and real Kafka clients, a Gateway process, a faulty network."""
