"""Names of training code: roots, initialisers, and calls that keep nothing."""

from __future__ import annotations

ROOT_METHODS = ("forward", "training_step")
"""Methods of a module whose result is trained on."""

INITIALISERS = frozenset(
    {
        "__init__",
        "reset_parameters",
        "init_weights",
        "_init_weights",
        "initialize_weights",
        "weights_init",
        "weight_init",
        "setup",
        "build",
    }
)
"""Functions that set parameters before training: the names by which PyTorch code calls them."""

BUILDERS = ("__init__", "setup", "configure_model", "configure_optimizers", "build", "_build")
"""Methods that are run for what they say about the attributes of a class."""

KEEPS_NOTHING = frozenset(
    """
    print len isinstance type repr str hasattr id range enumerate zip int float bool min max sum
    list tuple dict set sorted abs reversed any all round format callable iter next
    """.split()
)
"""Builtins that store nothing."""

KEEPS_NOTHING_METHODS = frozenset(
    """
    log log_dict info debug warning error add_scalar add_scalars add_histogram add_image
    add_figure write set_postfix set_description eval train zero_grad step size print
    """.split()
)
"""Methods of loggers, progress bars, modules and optimizers that store no graph."""

EXPECTING = frozenset(
    {"raises", "assertRaises", "assertRaisesRegex", "assertRaisesMessage", "suppress"}
)
"""Contexts of test frameworks and contextlib in which an exception is expected."""

FREEZING_WORDS = ("freeze", "requires_grad", "frozen")
"""Parts of names of functions that freeze what they are given. They only keep findings back."""

OPTIMIZER_WORD = "optim"
"""Part of names of functions and classes that make an optimizer. It only keeps findings back."""
