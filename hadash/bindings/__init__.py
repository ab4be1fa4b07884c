"""What the engines obey: bindings, their epoch, and who has put them into effect, in ZooKeeper.

Imports no Django: the Gateway uses it too.
"""
