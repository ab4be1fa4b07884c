"""Benchmarks with goals: of the Gateway, of plans and batches, of the pipeline, mail, health pages and web pages."""
