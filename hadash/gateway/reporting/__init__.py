"""The Gateway's reports: access reports for the lake, metrics, and its admin port."""
