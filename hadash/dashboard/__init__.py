"""The pages. Views hold no rules: they read through the selectors and change through the services of other apps."""
