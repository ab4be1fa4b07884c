"""The binding graph: the map of all islands, one island, and a thing with what surrounds it."""
