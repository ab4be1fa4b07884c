"""The effects of commands on real servers, one module for each kind of server. Importing one registers its
handlers.
"""
