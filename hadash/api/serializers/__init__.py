"""The shapes of requests and answers. The OpenAPI document is made of them, docstrings included; the services
decide what is allowed.

Clusters, pairs and people are named by their unique names, switches by their keys, AppIDs by their numbers
(their names may hold any character).
"""
