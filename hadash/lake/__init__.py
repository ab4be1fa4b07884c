"""The lake: folders of Parquet files that the Gateways, the control plane and the jobs share. This package
imports neither Django nor Spark.
"""
