"""Batches: many radii of one pair, moved in waves, requested and approved once."""
