"""Service discovery: which members a pool has, and where each of them is asked.

:mod:`hadash.coordinator.discovery.listing` has the interface. Members are listed by ZooKeeper
(:mod:`~hadash.coordinator.discovery.ephemeral`), by a file (:mod:`~hadash.coordinator.discovery.static`), or by a
service that is asked over HTTP (:mod:`~hadash.coordinator.discovery.http`).
"""
