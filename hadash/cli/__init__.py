"""The command-line client for operators: ``hadash``. It speaks to the API only, and imports no Django."""
