"""What is risky about who uses what, and how: rules, and what they find."""
