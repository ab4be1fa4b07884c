"""What the Gateway tells of what it sees: access for the lake, figures, and its admin port."""
