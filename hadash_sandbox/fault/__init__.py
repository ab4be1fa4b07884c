"""Something dies in each stage of a switch, on the real stack under load: ``make fault``."""
