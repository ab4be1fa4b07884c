"""The sources of the rules: hadash's own documentation, and publications of others."""

SWITCHING, GATEWAY, PIPELINE = "docs/switching.md", "docs/gateway.md", "docs/pipeline.md"
OWN_CLUSTERS = "docs/own-clusters.md"
IDENTITY = "docs/architecture.md"
#: The rules that DiDi, with whose engine hadash is compatible, sets for users of its high availability, and for
#: shared users.
RULES_OF_HA, SHARED_USERS = "DiDi Kafka HA: rules for its use", "DiDi Kafka HA: shared users"
