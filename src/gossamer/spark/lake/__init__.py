"""A lake: folders of Parquet that pipelines fill, and anything that reads Parquet can read."""
