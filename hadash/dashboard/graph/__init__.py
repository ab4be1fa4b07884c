"""The binding graph: the map of all islands, one island, and one thing with its surroundings."""
