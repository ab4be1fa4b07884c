"""The demo's mailbox: pages that show the mail as its readers see it.

The demo's mail server accepts all mail and delivers none of it.
"""
