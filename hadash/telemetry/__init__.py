"""What every process writes about its own work: log lines with ids, and traces. It knows no Django, so the
Gateway uses it too.
"""
