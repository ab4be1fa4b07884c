"""What engines obey, in ZooKeeper: bindings, the binding epoch, and which engines have put it into effect.

Imports no Django: the Gateway uses it too.
"""
