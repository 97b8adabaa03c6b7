"""What a point is: axes, domains, boxes, and tables of raw values."""
