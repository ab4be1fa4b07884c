"""Blast radii: the graph of which clients use what, its closures, their sizes, and its parts. Pure, and without
Django: Spark imports it, too.
"""
