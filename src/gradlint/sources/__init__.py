"""Where source text comes from, and which of it can matter. Imports no libcst."""
