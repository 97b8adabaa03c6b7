"""Benchmarks: what a region costs and how large it is. Run them from the repository's root."""
