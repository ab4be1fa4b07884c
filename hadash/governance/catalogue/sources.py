"""Where rules come from: pages of ours, and what others have published."""

SWITCHING, GATEWAY, PIPELINE = "docs/switching.md", "docs/gateway.md", "docs/pipeline.md"
OWN_CLUSTERS = "docs/own-clusters.md"
IDENTITY = "docs/architecture.md"
#: What DiDi, whose engine ours is compatible with, asks of users of its high availability, and of those who share one.
RULES_OF_HA, SHARED_USERS = "DiDi Kafka HA: rules for its use", "DiDi Kafka HA: shared users"
