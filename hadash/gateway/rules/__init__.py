"""The binding that governs a request, and what happens to the request: binding table, verdicts, refusals."""
