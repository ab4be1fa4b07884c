"""``make fault-pool``: kills and pauses the coordinator, a member, and ZooKeeper in each state of an assignment, while
a pool reads Kafka, and counts what was lost and what was handled twice.
"""
