"""The jobs: each reads its input, transforms it with :mod:`spark.transform`, and publishes the result as a whole."""
