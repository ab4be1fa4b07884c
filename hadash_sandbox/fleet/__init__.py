"""A generated large fleet: a pair of clusters with thousands of AppIDs, to see how hadash handles one.

It goes through the same tables and jobs as any other fleet; only the servers behind it are missing.
"""
