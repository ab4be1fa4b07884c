"""The virtual cluster that clients see instead of two: nodes, METADATA, coordinators and producer ids."""
