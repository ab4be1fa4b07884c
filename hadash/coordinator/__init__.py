"""The assignment coordinator: it tells which member of a pool of consumers reads which partition of a Topic, and moves
a partition only when the member that has read it so far has confirmed that it stopped.

Everything is in ZooKeeper: what members read (``/consumers/<cluster>/assignments/<Topic>``) and how far a change of
it has come (``/consumers/<cluster>/state/<Topic>``). Members are found by a service discovery, watch their assignments
by themselves, and are asked over HTTP what they read.

:mod:`hadash.coordinator.states` has the states of a Topic, :mod:`hadash.coordinator.decisions` what follows from what
is known, :mod:`hadash.coordinator.documents` the two documents.
"""
