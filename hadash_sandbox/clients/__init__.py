"""``make clients-check``: clients of many libraries, moved there and back, and what became of their records."""
