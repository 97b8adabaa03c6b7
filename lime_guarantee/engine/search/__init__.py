"""Who proposes: one file a search."""
