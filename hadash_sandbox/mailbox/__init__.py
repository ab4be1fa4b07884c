"""The demo's mailbox: a server that takes all mail and sends none of it on, and pages that show it as its
readers see it.
"""
