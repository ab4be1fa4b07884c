"""REST under ``/api/v1/``: what the pages do, for programs. Reads through the pages' selectors, changes
through the services.
"""
