"""What the Gateway costs: measured side by side with the broker itself, in one run."""
