"""The states of everything that switching has, each as a table. Pure. ``docs/states.md`` is drawn from them."""
