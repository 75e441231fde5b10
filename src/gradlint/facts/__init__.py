"""What the code does to gradients: an abstract interpretation of one file.

Interpreting: `interpreter` runs functions, on the `state` and with the `effects` that they leave;
`statements` (with `conditions`) and `expressions` have a function for each kind of node; `calls`
says who is called, and `callees`, `imported_calls`, `layer_calls`, `builtin_calls`, `opaque` and
`method_calls`, with `tensor_methods`, `module_methods` and `collection_methods`, what that gives;
`binding`, `scopes` and `fitting` carry values into functions and back.

Values: `values`, `joining` and `substitution`; what is known of them by `evidence`, `annotations`
and `names`; `elements` of `sequences`, `mappings` and `records`; `attributes`, `stores`, `classes`
and `instances`.

Memory: `memory` says which tensors share theirs, `aliases` how, `results` and `uses` what autograd
keeps, `writes` and `in_place` what is changed behind its back, `inference` what it refuses.

The verdict: `roots`, `freezing` and `graphless`. By names alone: `relevance`, `index`, and for grad
modes `mode_uses`, `mode_scopes` and `callers`. The questions of rules: `unit`, told by `answers`.
"""
