"""Pure functions from tables to tables with named schemas (:mod:`spark.schemas`). They do no I/O."""
