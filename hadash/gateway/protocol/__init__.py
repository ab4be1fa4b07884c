"""Kafka's protocol as bytes: frames, what is read of requests and records, the APIs and versions that are
offered. Pure.
"""
