"""Adapters turn what an explanation library returns into a `lime_guarantee.problem.Problem`.

This folder ships as ``lime_guarantee.adapters``. Its modules import each other relatively and everything else
from ``lime_guarantee``; none of them may be named like the library it adapts.
"""
