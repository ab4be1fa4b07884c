"""One cluster out of two: nodes, METADATA, coordinators and producer ids as clients see them."""
