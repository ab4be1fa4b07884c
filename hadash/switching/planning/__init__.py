"""From a request to its plan: what would move, why, and what blocks it."""
