"""``make fault-auditors``: kills and pauses auditors, their coordinator, and all servers that they need, in each state
of an assignment, while both sides of a Topic are written with planted differences; and counts what was not compared,
what was compared twice, what was not found, and what was found that is not there.
"""
