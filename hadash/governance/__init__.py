"""The rules that find risky uses of clusters, and their findings."""
