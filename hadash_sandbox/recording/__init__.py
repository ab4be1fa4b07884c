"""Real clients of many libraries and settings, on a demo of their own.

Their access reports become the fixture of fleets (:mod:`spark.fleet.recorded`).
"""
