"""The jobs: what the engines saw becomes the tables that people decide from (docs/pipeline.md). Imports no Django."""
