"""Bindings that people make and remove by hand: reviewed as a switch is, and moving nobody.

``rule`` says what is possible, ``machine`` holds the states, ``models`` the rows; ``asking`` and ``deciding``
are for people, ``applying`` writes to ZooKeeper.
"""
