"""What people do to pools of consumers: isolate a member, stop them all, choose a strategy. Four eyes where a pair's
rules ask for it. What a pool is, and how partitions move, is in :mod:`hadash.coordinator`.

``actions`` says what there is to do, ``requests`` and ``decisions`` are for people, ``applier`` writes to ZooKeeper,
``history`` keeps the steps that the coordinator has taken.
"""
