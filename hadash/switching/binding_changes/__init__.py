"""Bindings that people add and remove by hand: reviewed like a switch, and moving no client.

``requests`` and ``decisions`` are for people, ``applying`` writes to ZooKeeper, ``unregistering`` removes InstanceIDs.
:mod:`hadash.switching.binding_rule` says what is possible; the states are in ``machines/``, the rows in ``models/``.
"""
