"""The command-line client for operators: ``python -m hadash.cli``. It speaks to the API only, and imports no Django."""
