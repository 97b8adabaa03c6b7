"""What comes out: a region, its report, and how it is made wider."""
