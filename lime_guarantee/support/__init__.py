"""What every room uses: array types, optional imports, files written whole, progress."""
