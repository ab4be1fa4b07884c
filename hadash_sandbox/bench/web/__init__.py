"""``make bench-web``: hadash's pages and API beside estates of a thousand to a hundred thousand AppIDs."""
