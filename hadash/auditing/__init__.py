"""The auditors' core: proves by content that a mirror holds what its source holds. Pure; it knows no Kafka client.

:mod:`hadash.auditing.prints` reduces records to checksums, :mod:`hadash.auditing.aligning` compares the two sides of a
partition record by record and says what differs where, :mod:`hadash.auditing.windows` sums up what was compared by the
time of the records.
"""
