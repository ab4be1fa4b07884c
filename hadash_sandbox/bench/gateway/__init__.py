"""``make bench-gateway``: measures the Gateway and the broker itself in turns, in one run."""
