"""The virtual cluster that clients see instead of two: METADATA, Topics, ids of producers."""
