"""The paper's tables and figures, made again with this package."""
