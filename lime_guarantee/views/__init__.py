"""For people: pictures and pages of regions and audits."""
