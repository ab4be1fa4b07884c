"""Requests and what people decide on them: policy, approvals by other people, change windows, reasons."""
