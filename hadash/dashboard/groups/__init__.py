"""Consumer groups: which there are, who reads what in one of them, how far behind, and what another member or
assignor would change.
"""
