"""A member of a pool of consumers: a process that reads the partitions that the coordinator assigns to it.

Five lines are enough::

    from hadash.coordinator.member.process import PoolMember

    def handle(record):
        print(record.topic(), record.partition(), record.offset(), record.value())

    PoolMember.from_environment(handle).run()

It registers with ZooKeeper, follows its assignments, commits what it has read before it says that it has stopped, and
says over HTTP what it reads. A record is handled at least once; exactly once when nothing goes wrong. While ZooKeeper
does not answer, it goes on with what it reads.
"""
