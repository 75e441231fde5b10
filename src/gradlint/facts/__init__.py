"""What the code does to gradients: an abstract interpretation of one file.

Interpreting: `interpreter` runs functions; `statements` and `expressions` have a function for each
kind of node; `calls` says who is called, and `callees`, `imported_calls`, `builtin_calls`,
`opaque` and `method_calls`, with `tensor_methods` and `module_methods`, what that gives. Values:
`values`, `elements`, `attributes`, `instances`, with `evidence` and `names` for what is known of
them. The verdict: `roots` and `freezing`. The questions of rules: `unit`.
"""
