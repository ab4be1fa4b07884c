"""Consumer groups: the list of all, one group with its members' partitions and lag, and what another member or
assignor would change.
"""
