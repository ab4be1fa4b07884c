"""The end of a migration: after a term the mirror is retired, and the Topics on the old cluster are removed."""
