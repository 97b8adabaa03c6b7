"""Which explanation to take: several compared, an explainer tuned, a line fitted for the largest region."""
