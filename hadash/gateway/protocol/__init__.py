"""Kafka's protocol as bytes: frames, the parts of requests and records that are read, the offered APIs and versions.
Pure.
"""
