"""The switch: who may ask and approve, the stages, and carrying them out (docs/switching.md)."""
