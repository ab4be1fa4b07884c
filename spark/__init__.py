"""The Spark jobs: they turn the engines' access reports into tables for decisions (docs/pipeline.md). This
package does not import Django.
"""
