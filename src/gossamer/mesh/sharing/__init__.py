"""Shared groups with members on several brokers."""
