"""Reports: what stands in them, for whom, when, and how they look as mail, page, text and PDF."""
