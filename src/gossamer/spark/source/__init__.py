"""`spark.read.format("gossamer")`: the archives of brokers as rows."""
