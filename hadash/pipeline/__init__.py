"""The pipeline: its jobs, when they run, what they are given of hadash's own knowledge, and carrying them out."""
