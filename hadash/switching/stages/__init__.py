"""The stages of a switch: the commands that each yields, their order, and what follows from the answers. Pure: a
stage does no I/O.
"""
