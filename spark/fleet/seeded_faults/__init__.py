"""What is wrong in a made-up fleet, for each rule: as often as it is wanted, each beside something that only
looks like it.

A seeded fault says what there is to find because it has put it there; it knows nothing of how the rules look for it.
It stands in the module that has the name of its rule's module in ``spark/rules/``.
"""
