"""Commands that speak with a running broker through its admin API."""
