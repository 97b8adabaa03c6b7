"""Regions and reports as HTML: views for notebooks, and pages of their own."""
