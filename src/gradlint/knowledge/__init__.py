"""What torch does, as tables. Imports neither libcst nor torch; tests execute every row."""
