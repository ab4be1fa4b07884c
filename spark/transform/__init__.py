"""From tables to tables: pure functions over named schemas (:mod:`spark.schemas`). They read and write nothing."""
