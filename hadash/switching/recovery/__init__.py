"""After something was lost: a target, records that were not replicated, bindings that no switch explains."""
