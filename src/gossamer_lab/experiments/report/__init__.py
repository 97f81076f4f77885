"""The report: one HTML page from the tables of results."""
