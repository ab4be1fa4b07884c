"""What moves together: the graph of who uses what, its closure, its sizes and its parts. Pure, and without
Django: Spark reads it, too.
"""
