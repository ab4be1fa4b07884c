"""Views: each reads through selectors, changes through services, and says what came of it."""
