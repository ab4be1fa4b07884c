"""``make bench-coordinator``: how soon a pool of consumers is Stable again, what that costs ZooKeeper, and how long
the strategies take.
"""
