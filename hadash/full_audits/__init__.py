"""Full audits: Spark compares a whole Topic on both sides of a mirror, when somebody asks for it. (Auditors compare
what comes, all the time: :mod:`hadash.auditors`.)
"""
