"""What a Gateway counts: access reports for the lake, traffic, pauses, durations."""
