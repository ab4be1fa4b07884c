"""Clusters, pairs, AppIDs, InstanceIDs, and the access that was observed."""
