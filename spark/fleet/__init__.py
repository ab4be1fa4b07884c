"""Generated fleets of any size, with known answers and a seed."""
