"""Compiled loops: they import numpy and numba, and nothing else."""
