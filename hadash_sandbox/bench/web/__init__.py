"""``make bench-web``: measures hadash's pages and API with fleets of a thousand to a hundred thousand AppIDs."""
