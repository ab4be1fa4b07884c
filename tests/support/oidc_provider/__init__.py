"""A real provider of OpenID Connect: django-oauth-toolkit as a server of its own, with its own settings and database.

``PROVIDER_FOLDER`` holds its database, its key, and ``people.json`` with what it says of each person (read
for every token, so that a test can change it); ``PROVIDER_PORT`` is where it listens. :mod:`support.provider`
starts it.
"""
