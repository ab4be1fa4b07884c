"""Real Kafka clients that number their records and check the numbers: the demo's traffic and the tests' witness."""
