"""How workers get their work: the process that creates it hands it over, or beat picks it up if that failed."""
