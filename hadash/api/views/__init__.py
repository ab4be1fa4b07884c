"""The API's handlers. Each validates with a shape, reads through selectors and changes through services."""
