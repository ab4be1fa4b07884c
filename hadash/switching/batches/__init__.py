"""Batches: many radii of one pair, moved in waves, asked for and approved once."""
