"""One client's connection from its first byte to its last: signing in, its requests under way, the order of answers."""
