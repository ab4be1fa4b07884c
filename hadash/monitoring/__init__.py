"""Health, readiness and Prometheus metrics of hadash's processes (``docs/monitoring.md``)."""
