"""What a Gateway says of itself over HTTP: its clients, its traffic, metrics."""
