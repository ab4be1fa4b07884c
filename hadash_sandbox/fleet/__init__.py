"""A large fleet that nobody has: a pair of clusters with thousands of AppIDs, generated, for a look at how
hadash does with one.

It goes through the tables and jobs that every other fleet goes through; only the servers behind it are missing.
"""
