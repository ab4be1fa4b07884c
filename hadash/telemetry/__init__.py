"""Logs with ids, and traces, for every process. This package does not import Django, so the Gateway uses it, too."""
