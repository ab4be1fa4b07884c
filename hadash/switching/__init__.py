"""The switch: requesting and approving it, its stages, and carrying them out (docs/switching.md)."""
