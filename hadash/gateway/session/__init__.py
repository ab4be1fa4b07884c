"""One client's connection from its first byte to its last: the client's identity, its connections to clusters, and its
requests under way.
"""
