"""`df.write.format("gossamer")`: rows as publications."""
