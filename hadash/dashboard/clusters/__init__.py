"""The pages of clusters: each as it was looked at last, its partitions and controller as the snapshots have
them, and what differs from its twin.
"""
