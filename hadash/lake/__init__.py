"""The lake: folders of Parquet files that the Gateways, the control plane and the jobs share. Imports no
Django, no Spark.
"""
