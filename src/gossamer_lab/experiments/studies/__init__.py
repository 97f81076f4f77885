"""One file an experiment: its grid, the function of a cell, its figures and claims."""
