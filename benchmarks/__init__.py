"""Figures behind the claims: each prints a table and writes JSON into benchmarks/results."""
