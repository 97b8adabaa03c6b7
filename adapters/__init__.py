"""Adapters turn what an explanation library returns into a `Problem`.

This folder ships as ``lime_guarantee.adapters``. Its modules import each other relatively and everything else
from ``lime_guarantee``; none of them may be named like the library it adapts.

An adapter is a subclass of `Adapter` (`base`). One `registry` holds ours, those of other packages (entry
points of the group ``lime_guarantee.adapters``) and those registered at run time; `hooks` lets explanations
remember what their adapter needs.
"""
