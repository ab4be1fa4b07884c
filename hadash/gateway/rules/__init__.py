"""Which binding governs a request, and what becomes of it: the table of bindings, verdicts, refusals."""
