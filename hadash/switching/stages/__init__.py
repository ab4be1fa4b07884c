"""The stages of a switch: what each asks of servers, in which order, and what it makes of the answers. Pure:
a stage yields commands.
"""
