"""From text to a syntax tree: what is safe to parse, the tree itself, and places in it."""
