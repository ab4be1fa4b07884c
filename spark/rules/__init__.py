"""The rules of governance over a whole estate, one small function each. What they are called and say:
``hadash/governance/catalogue/``.
"""
