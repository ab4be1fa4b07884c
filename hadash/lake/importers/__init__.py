"""Access reports of others, read into the lake."""
