"""The pipeline: its jobs, their schedules, the snapshots that they read, and running them."""
