"""What pages, the API, reports and notices show of things: read for somebody, with labels and badges in the
language of whoever looks.
"""
