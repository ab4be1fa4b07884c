"""One client's connection from its first byte to its last: who it is, its connections to clusters, what is on
its way.
"""
