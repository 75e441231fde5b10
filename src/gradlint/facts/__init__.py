"""What the code does to gradients: an abstract interpretation of one file."""
