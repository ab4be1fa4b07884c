"""Recovery after losses: of a target, of records that were not replicated, of the switch that explains a binding."""
