"""The faults of generated fleets, for each rule, each beside a near miss that only looks like it.

A seeded fault notes the findings that it causes; it does not depend on how the rules search. It is in the
module with the name of its rule's module in ``spark/rules/``.
"""
