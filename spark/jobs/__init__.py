"""The jobs: each reads what it needs, lets :mod:`spark.transform` make something of it, and puts it where
readers find it whole.
"""
