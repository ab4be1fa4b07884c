"""The command-line client for operators: ``hadash``. It only uses the API, and does not import Django."""
