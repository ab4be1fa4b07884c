"""The pages of clusters: the last look at each, its partitions and controller by the snapshots, and its
differences from its twin.
"""
