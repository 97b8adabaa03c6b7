"""What is claimed: a model, a surrogate, when they agree, and what was explained."""
