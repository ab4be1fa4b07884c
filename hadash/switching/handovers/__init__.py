"""How work comes to the workers: handed over by the process that made it, or picked up by beat because that failed."""
