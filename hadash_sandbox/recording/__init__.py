"""Real clients of many libraries and settings on a demo of their own, whose access reports become the fixture
of fleets (:mod:`spark.fleet.recorded`).
"""
