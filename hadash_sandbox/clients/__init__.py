"""``make clients-check``: moves clients of many libraries there and back, and checks all of their records."""
