"""``make fault``: faults in each stage of a switch, on the real stack under load."""
