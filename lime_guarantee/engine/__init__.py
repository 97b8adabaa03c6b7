"""The engine: an oracle, searches that propose boxes, and the certifier that decides."""
