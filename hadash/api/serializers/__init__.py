"""The shapes of what is sent and answered. The OpenAPI document is made of them; what is allowed is decided
by the services.

Clusters, pairs and people are named by their unique names, switches by their keys, AppIDs by their numbers
(their names may hold any character).
"""
