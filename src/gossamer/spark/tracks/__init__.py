"""Positions in order: where somebody went, and what they visited on the way."""
