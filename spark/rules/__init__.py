"""The rules of governance over a whole fleet, one small function each. Their names and sentences are in
``hadash/governance/catalogue/``.
"""
