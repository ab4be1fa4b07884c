"""What others may ask a process of hadash: whether it lives, whether it can serve, and its figures for
Prometheus (``docs/monitoring.md``).
"""
