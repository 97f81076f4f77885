"""Pipelines: what comes through the brokers, kept and put in order in a lake."""
