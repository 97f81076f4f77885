"""The experiments of the papers, run with the code that ships."""
