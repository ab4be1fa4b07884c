"""The rules of governance over a whole fleet, one small function each. What they are called and say:
``hadash/governance/catalogue/``.
"""
