"""What the engines obey: bindings, their epoch, and who has put them into effect, in ZooKeeper (DESIGN section 3).

Imports no Django: the Gateway uses it too.
"""
