"""The dialect of DiDi's engine: what its brokers and its Gateway read in their own ZooKeepers (docs/dialects.md).

The engine's behaviour was read from its published sources; comments name the sections of that reading
(docs/didi-engine.md).
"""
