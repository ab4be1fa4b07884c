"""The switch: who may ask and approve, the stages, and carrying them out (DESIGN section 6)."""
