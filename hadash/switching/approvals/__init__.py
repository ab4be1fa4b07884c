"""Requests and the decisions on them: approvals by other people, change windows, reasons."""
