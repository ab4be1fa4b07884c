"""Imports access reports of other sources into the lake."""
