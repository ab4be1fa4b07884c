"""The REST API under ``/api/v1/``: what the pages do, for programs. It reads through the pages' selectors, and
changes through the services.
"""
