"""Which comments silence which findings, and which comments are called unused."""

from __future__ import annotations

import pytest

from fake_rules import RULES, PedanticRule
from gradlint.model import Confidence, Finding, Severity, Span
from gradlint.rules import Rule
from gradlint.suppressions import apply, comments, may_suppress, read


def finding(line: int, code: str = "GL201", last: int | None = None) -> Finding:
    lines = frozenset(range(line, (last or line) + 1))
    return Finding(
        code,
        RULES[code].slug,
        Severity.ERROR,
        Confidence.HIGH,
        "model.py",
        Span(line, 1, line, 5),
        "message",
        silenced_by=lines,
    )


def outcome(
    source: str, *found: Finding, rules: dict[str, Rule] | None = None, on: str = ""
) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """(line, code) of the findings that stay, and (line, flagged text) of every GL001."""
    rules = rules or RULES
    ran = [rule for code, rule in rules.items() if not on or code in on]
    left, unused = apply(found, read(source, rules), rules, ran, "model.py")
    lines = source.split("\n")
    return (
        [(f.span.line, f.code) for f in left],
        [
            (f.span.line, lines[f.span.line - 1][f.span.column - 1 : f.span.end_column - 1])
            for f in unused
        ],
    )


def messages(source: str) -> list[str]:
    return [f.message for f in apply([], read(source, RULES), RULES, RULES.values(), "m.py")[1]]


# ------------------------------------------------------------------------------- what silences


@pytest.mark.parametrize(
    "comment",
    [
        "# gradlint: ignore[GL201]",
        "#gradlint:ignore[GL201]",
        "# gradlint: ignore[ gl201 ] targets need no gradient",
        "# gradlint: ignore [GL2]",
        "# gradlint: ignore[GL]",
        "# gradlint: ignore[detach-cuts-parameters]",
        "# type: ignore  # gradlint: ignore[GL201]  # more",
        "# gradlint: ignore-file[GL2]",
        "# noqa: GL201",
        "# NOQA:GL201 because",
        "# noqa: E501, GL201",
        "# noqa: E501 GL201",
    ],
)
def test_a_comment_on_the_line_silences(comment: str) -> None:
    assert outcome(f"x = y.detach()  {comment}", finding(1)) == ([], [])


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: E501",
        "# noqa : F401",
        "# gradlint is a linter",
        "# GL201",
        "# gradlint: see x",
    ],
)
def test_other_comments_do_not(comment: str) -> None:
    assert outcome(f"x = y.detach()  {comment}", finding(1)) == ([(1, "GL201")], [])


def test_several_codes_silence_several_findings() -> None:
    source = "x  # gradlint: ignore[GL201, detach-discarded] meant"
    found = (finding(1), finding(1, "GL203"), finding(1, "GL101"))
    assert outcome(source, *found) == ([(1, "GL101")], [])


def test_any_line_of_the_statement_counts() -> None:
    source = "f(\n    x,\n    y,  # gradlint: ignore[GL201]\n)\n"
    assert outcome(source, finding(1, last=4)) == ([], [])
    assert outcome(source, finding(1, last=2)) == ([(1, "GL201")], [(3, "GL201")])


@pytest.mark.parametrize(
    "source",
    [
        "# gradlint: ignore[GL201]\nx\n",
        "if a:\n    # gradlint: ignore[GL201]\n    x\n",
        "# gradlint: ignore[GL201]\n# another comment\n# noqa: GL203\nx\n",
        "if a:\n    pass\n# gradlint: ignore[GL201]\nx\n",
        "f(\n    # gradlint: ignore[GL201]\n    x)\n",
        '"""\n"""\n# gradlint: ignore[GL201]\nx\n',
    ],
)
def test_alone_it_counts_for_the_code_below(source: str) -> None:
    line = source[: source.index("x\n") if "x\n" in source else source.index("x)")].count("\n") + 1
    assert outcome(source, finding(line), finding(line, "GL203"))[0] in ([], [(line, "GL203")])


def test_alone_inside_a_statement_it_counts_for_that_too() -> None:
    assert outcome("f(\n    x\n    # gradlint: ignore[GL201]\n)\n", finding(1, last=4)) == ([], [])


@pytest.mark.parametrize(
    "source",
    [
        "# gradlint: ignore[GL201]\n\nx\n",
        "y  # gradlint: ignore[GL201]\nz\nx\n",
        "y = '''\n'''  # gradlint: ignore[GL201]\nx\n",
        "y = 1; \\\nz  # gradlint: ignore[GL201]\nx\n",
    ],
)
def test_it_counts_for_no_further_line(source: str) -> None:
    line = source.count("\n")
    left, unused = outcome(source, finding(line))
    assert left == [(line, "GL201")] and len(unused) == 1


def test_strings_are_no_comments() -> None:
    source = 'x = "# gradlint: ignore[GL201]"\ny = """\n# noqa: GL201\n"""\n'
    assert outcome(source, finding(1), finding(2, last=4)) == ([(1, "GL201"), (2, "GL201")], [])


def test_a_file_that_is_not_analysed_cannot_be_silenced() -> None:
    assert outcome("# gradlint: ignore-file[GL]\n", finding(1, "GL000"), finding(1)) == (
        [(1, "GL000")],
        [],
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    source = end.join(["x", "y  # gradlint: ignore[GL201]", "# noqa: GL203", "z", ""])
    suppressions = read(source, RULES)
    assert [s.lines for s in suppressions] == [frozenset({2}), frozenset({3, 4})]


@pytest.mark.parametrize(
    "broken", ["x = (", "x = '''", "  x\n y", "x = $\n\x00", "\x0c\ty\n\t x\n        z"]
)
def test_a_tokenizer_that_gives_up_costs_no_suppression(broken: str) -> None:
    source = f"a  # gradlint: ignore[GL201]\n{broken}\n\n# noqa: GL203\nb  # noqa: GL101\n"
    last = source.count("\n")
    found = (finding(1), finding(last, "GL203"), finding(last, "GL101"))
    assert outcome(source, *found) == ([], [])


def test_comments_after_the_point_where_the_tokenizer_gives_up() -> None:
    source = "if a:\n        x\n    y\n# noqa: GL203\nb = 1  # noqa: GL101\n\n# noqa: GL102\n\nc\n"
    found = [(c.text, sorted(c.lines)) for c in comments(source)]
    assert found == [("# noqa: GL203", [4, 5]), ("# noqa: GL101", [5]), ("# noqa: GL102", [7])]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x  # noqa: E501", False),
        ("x  # noqa", False),
        ("x  # NoQA: E501, gl201", True),
        ("x  # gradlint: y", True),
        ("import gradlint", False),
    ],
)
def test_the_fast_path(source: str, expected: bool) -> None:
    assert may_suppress(source) is expected


# ----------------------------------------------------------------------------------- GL001


def test_every_unused_code_is_named_once() -> None:
    source = "x  # gradlint: ignore[GL201, GL203, data-read]\n"
    assert outcome(source, finding(1)) == ([], [(1, "GL203"), (1, "data-read")])


def test_what_is_said_of_an_unused_code() -> None:
    source = "x\ny  # gradlint: ignore[detach-discarded] why\n"
    (unused,) = apply([], read(source, RULES), RULES, RULES.values(), "model.py")[1]
    assert unused.code == "GL001" and unused.rule == "unused-suppression"
    assert unused.severity is Severity.WARNING and unused.path == "model.py"
    assert unused.span == Span(2, 23, 2, 39)
    assert unused.message == "`detach-discarded` silences nothing"
    assert unused.why == "No GL203 is found on the lines that it counts for."
    assert unused.help == "remove `detach-discarded` from the comment"
    (unused,) = apply([], read("# gradlint: ignore-file[GL203]", RULES), RULES, RULES.values(), "")[
        1
    ]
    assert unused.why == "No GL203 is found in this file."


def test_a_code_whose_rule_did_not_run_is_not_called_unused() -> None:
    source = "x  # gradlint: ignore[GL201]\ny  # gradlint: ignore[GL2]\nz  # noqa: GL203\n"
    assert outcome(source, on="GL001 GL203") == ([], [(3, "GL203")])
    assert outcome(source, on="GL001 GL201 GL203") == ([], [(1, "GL201"), (2, "GL2"), (3, "GL203")])


def test_a_prefix_does_not_ask_for_pedantic_rules() -> None:
    rules = {**RULES, "GL204": PedanticRule("GL204", "redundant-detach")}
    source = "x  # gradlint: ignore[GL2]\ny  # gradlint: ignore[GL204]\n"
    on = " ".join(RULES)
    assert outcome(source, rules=rules, on=on) == ([], [(1, "GL2")])  # type: ignore[arg-type]


def test_nothing_is_unused_while_gl001_is_off() -> None:
    assert outcome("x  # gradlint: ignore[GL201]\n", on="GL201") == ([], [])


def test_unused_suppressions_can_be_silenced() -> None:
    assert outcome("x  # gradlint: ignore[GL201, GL001]\n") == ([], [])
    assert outcome("# gradlint: ignore-file[GL001]\nx  # noqa: GL203\n") == ([], [])
    assert outcome("# gradlint: ignore[GL001]\n# gradlint: ignore[GL201]\nx\n") == ([], [])
    assert outcome("# gradlint: ignore[unused-suppression]\n# gradlint: ignore\nx\n") == ([], [])


def test_a_suppression_of_gl001_that_silences_nothing_is_unused_itself() -> None:
    assert outcome("x  # gradlint: ignore[GL001]\n") == ([], [(1, "GL001")])
    assert outcome("x  # gradlint: ignore[GL0]\n", finding(1)) == ([(1, "GL201")], [(1, "GL0")])


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# gradlint: ignore", "`ignore` names no rule, so it silences nothing"),
        ("# gradlint: ignore[]", "`ignore` names no rule, so it silences nothing"),
        ("# gradlint: ignore-file the rest", "`ignore-file` names no rule, so it silences nothing"),
        ("# gradlint: ignore: GL201", "`ignore` names no rule, so it silences nothing"),
        ("# gradlint: ignore[GL201", "`ignore` names no rule, so it silences nothing"),
        ("# gradlint: disable=GL201", "`disable` is no suppression; did you mean `ignore`?"),
        ("# gradlint: ingore[GL201]", "`ingore` is no suppression; did you mean `ignore`?"),
        (
            "# gradlint: ignore_file[GL201]",
            "`ignore_file` is no suppression; did you mean `ignore-file`?",
        ),
        ("# gradlint: ignore[GL299]", "no rule is called `GL299`; did you mean `GL"),
        ("# gradlint: ignore[detach]", "no rule is called `detach`; did you mean `"),
        ("# noqa: GL299", "no rule is called `GL299`; did you mean `GL"),
    ],
)
def test_faulty_comments_silence_nothing_and_are_reported(comment: str, expected: str) -> None:
    source = f"x  {comment}\n"
    (message,) = messages(source)
    assert message.startswith(expected)
    assert outcome(source, finding(1))[0] == [(1, "GL201")]


def test_codes_of_other_linters_are_left_to_them() -> None:
    assert messages("x  # noqa: E501, GL08, D100\n") == []
