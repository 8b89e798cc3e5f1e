"""Which of several is better: paired on the same splits."""
