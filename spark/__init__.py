"""The jobs: what the engines saw becomes the tables that people decide from (DESIGN section 7). Imports no Django."""
