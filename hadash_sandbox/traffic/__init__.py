"""Real Kafka clients that number their records and check the numbers: traffic of the demo, evidence for the tests."""
