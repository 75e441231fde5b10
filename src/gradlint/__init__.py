"""gradlint finds the lines that silently stop a PyTorch model from learning."""

__version__ = "0.1.0"
