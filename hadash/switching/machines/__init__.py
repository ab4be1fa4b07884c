"""The states of everything in switching, as tables. Pure. ``docs/states.md`` is drawn from them."""
