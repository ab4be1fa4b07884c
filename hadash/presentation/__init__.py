"""Data for pages, the API, reports and notices: read with a user's rights, with labels and badges in the
viewer's language.
"""
