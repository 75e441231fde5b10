"""What gradlint finds in pinned packages from PyPI, kept as text: every change shows as a diff.

    make ecosystem            fails and prints the diff when something else is found than is kept
    make ecosystem-update     writes what is found, and carries the reviewers' marks over

`packages.txt` pins the packages. `findings.txt` has a line for each finding and its review, and
`data_findings.txt` the many findings about `.data`, in short. Needs pip and minutes, so the tests
do not run it; they hold that the kept files are well-formed, and its logic.
"""


class Stopped(Exception):
    """What ends a run; its text tells a contributor why."""
