"""Who is connected: clients by AppID and InstanceID, members of groups, connections; and what a changed binding means
for them.
"""
