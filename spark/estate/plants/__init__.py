"""What is wrong in a made-up estate, for each rule: as often as it is wanted, each beside something that only
looks like it.

A plant says what there is to find because it has put it there; it knows nothing of how the rules look for it. It stands
in the module that is called as the one of its rule in ``spark/rules/``.
"""
