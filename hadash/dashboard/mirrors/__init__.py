"""The pages of mirrors: how far each is behind now, within the last day and over a month; its partitions and tasks."""
