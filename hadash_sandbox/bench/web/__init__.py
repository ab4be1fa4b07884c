"""``make bench-web``: hadash's pages and API beside fleets of a thousand to a hundred thousand AppIDs."""
