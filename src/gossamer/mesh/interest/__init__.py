"""The modes: in which form a neighbour is told what is wanted, and who decides it."""
