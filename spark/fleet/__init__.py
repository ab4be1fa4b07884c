"""Fleets that were made up: who uses what, with answers that are known. Seeded, of any size."""
