"""The evaluation of the Bloom papers (Table III, Figures 4 to 6), our search beside theirs."""
