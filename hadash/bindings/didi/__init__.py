"""The dialect of DiDi's engine: what its brokers and its Gateway read in their own ZooKeepers (docs/dialects.md).

What the engine does was read in its published sources; comments name the sections of that reading
(docs/didi-engine.md).
"""
