"""The commands. Everything heavy is imported when a command needs it, not before."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gradlint import __version__
from gradlint.report import formats

if TYPE_CHECKING:
    from gradlint.config import Overrides, Resolver
    from gradlint.engine import Job, Result
    from gradlint.rules import Rule
    from gradlint.selection import Layer

_F = TypeVar("_F", bound=Callable[..., Any])

_STDIN = "-"
_CLEAN, _FOUND, _FAILED, _INTERRUPTED = 0, 1, 2, 130


def _one_of(name: str, words: Sequence[str], **rest: Any) -> Callable[[_F], _F]:
    """An option that takes one of some words, and names the nearest one when it gets another."""

    def checked(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        from gradlint.selection import nearest

        if value is None or value in words:
            return value
        text = f"{value!r} is none of {', '.join(words)}; did you mean {nearest(value, words)!r}?"
        raise click.BadParameter(text)

    return click.option(name, callback=checked, metavar=f"[{'|'.join(words)}]", **rest)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gradlint", message="%(prog)s %(version)s")
def app() -> None:
    """gradlint finds the lines that silently stop a PyTorch model from learning."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and ends the process with its exit code."""
    try:
        code = app.main(arguments, prog_name="gradlint", standalone_mode=False) or _CLEAN
    except click.ClickException as error:
        error.show()
        code = _FAILED
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted: the check is not complete.", err=True)
        code = _INTERRUPTED
        if threading.active_count() > 1:  # the parser cannot be stopped: leave without it
            sys.stderr.flush()
            os._exit(code)
    except OSError as error:  # no room for the report, a working directory that is gone
        click.echo(f"gradlint stopped: {error.strerror or error}.", err=True)
        code = _FAILED
    except Exception as error:
        traceback.print_exc()
        click.echo(f"gradlint crashed: {error!r}. Please report it.", err=True)
        code = _FAILED
    sys.exit(code)


# -------------------------------------------------------------------------------------- check


@dataclass(frozen=True, slots=True)
class _Check:
    """The options of `check`, as click gives them."""

    paths: tuple[str, ...]
    output_format: str
    output_file: Path | None
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    pedantic: bool
    min_confidence: str | None
    fail_on: str | None
    exit_zero: bool
    statistics: bool
    quiet: bool
    force_exclude: bool
    stdin_filename: str
    config: Path | None
    isolated: bool
    no_cache: bool
    jobs: int


def _codes(name: str, help_: str) -> Callable[[_F], _F]:
    return click.option(name, multiple=True, metavar="CODES", help=help_)


@app.command()
@click.argument("paths", nargs=-1)
@_one_of("--output-format", formats(), default="full", help="How findings are shown.")
@click.option("--output-file", type=click.Path(path_type=Path), help="Write the report there.")
@_codes("--select", "Turn on these rules only: codes, prefixes (GL3) or names, by commas.")
@_codes("--extend-select", "Turn on these rules too.")
@_codes("--ignore", "Turn off these rules.")
@click.option("--pedantic", is_flag=True, help="Turn on the rules that are off by default.")
@_one_of(
    "--min-confidence",
    ("high", "medium", "low"),
    help="Leave out findings that are less sure.  [default: medium]",
)
@_one_of(
    "--fail-on",
    ("error", "warning"),
    help="The severity from which findings make the exit code 1.  [default: warning]",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule.")
@click.option("--quiet", is_flag=True, help="No summary, no progress, no warnings.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded files even when named.")
@click.option(
    "--stdin-filename",
    default="<stdin>",
    metavar="NAME",
    help="The name that `-` is reported under, and whose settings hold.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Use this configuration file only.")
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("--no-cache", is_flag=True, help="Accepted; nothing is cached so far.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Accepted; files are checked in one process so far.",
)
@click.pass_context
def check(ctx: click.Context, /, **options: Any) -> None:
    """Lint files, folders and - (standard input); the current folder by default.

    Exit codes: 0 clean, 1 findings, 2 wrong usage or an error inside gradlint.
    """
    ctx.exit(_check(_Check(**options)))


def _check(options: _Check) -> int:
    from gradlint.config import ConfigError, Resolver
    from gradlint.engine import check_files
    from gradlint.output import Progress, is_terminal
    from gradlint.rules import all_rules

    if options.config and options.isolated:
        raise click.UsageError("--config and --isolated exclude each other.")
    unread: list[str] = []
    try:
        overrides = _overrides(options, all_rules())
        resolver = Resolver(all_rules(), overrides, options.config, options.isolated)
        jobs = list(_jobs(options, resolver, unread))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    if not jobs and not unread and not options.quiet:
        click.echo("warning: no Python files found", err=True)
    shown = is_terminal(sys.stderr) and not options.quiet
    with Progress(len(jobs), sys.stderr, shown) as progress:
        result = check_files(jobs, progress)
    return _finish(result, unread, options)


def _overrides(options: _Check, rules: dict[str, Rule]) -> Overrides:
    from gradlint.config import Overrides
    from gradlint.model import Confidence, Severity

    return Overrides(
        _layer(options, rules),
        Confidence(options.min_confidence) if options.min_confidence else None,
        Severity(options.fail_on) if options.fail_on else None,
        options.pedantic,
    )


def _layer(options: _Check, rules: dict[str, Rule]) -> Layer:
    from gradlint.config import CANNOT_IGNORE
    from gradlint.selection import NOT_ANALYSED, Layer

    select = _selectors("--select", options.select, rules)
    extend_select = _selectors("--extend-select", options.extend_select, rules)
    ignore = _selectors("--ignore", options.ignore, rules)
    if NOT_ANALYSED in ignore:
        raise click.BadParameter(CANNOT_IGNORE, param_hint="--ignore")
    return Layer(select if options.select else None, extend_select, ignore)


def _selectors(option: str, values: Iterable[str], rules: dict[str, Rule]) -> tuple[str, ...]:
    from gradlint.selection import UnknownRule, selector

    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    try:
        return tuple(selector(word, rules) for word in words)
    except UnknownRule as error:
        text = f"{error} `gradlint rules` lists them all."
        raise click.BadParameter(text, param_hint=option) from error


def _jobs(options: _Check, resolver: Resolver, unread: list[str]) -> Iterator[Job]:
    """One job a file, each file once; paths that cannot be looked into are added to `unread`."""
    from gradlint.engine import Job, shown_path
    from gradlint.sources import files

    seen: set[str] = set()
    for given in dict.fromkeys(options.paths or (".",)):
        if given == _STDIN:
            named = Path(options.stdin_filename)
            if not (options.force_exclude and resolver.excludes(named)):
                yield Job(shown_path(named), resolver.settings(named), _read_stdin)
            continue
        for path in _discover(Path(given), options, resolver, unread):
            if (name := shown_path(path)) not in seen:
                seen.add(name)
                yield Job(name, resolver.settings(path), partial(files.read, path))


def _discover(
    given: Path, options: _Check, resolver: Resolver, unread: list[str]
) -> Iterator[Path]:
    from gradlint.sources import files

    try:
        yield from files.discover(
            [given],
            excluded=resolver.excludes,
            force_exclude=options.force_exclude,
            on_unreadable=lambda path, error: unread.append(
                f"{path} cannot be read: {error.strerror or error}"
            ),
        )
    except files.MissingPath as error:
        unread.append(str(error))


def _read_stdin() -> str:
    from gradlint.sources import files

    return files.decode(sys.stdin.buffer.read())


def _finish(result: Result, unread: list[str], options: _Check) -> int:
    """Prints everything and returns the exit code."""
    problems = [*unread, *result.problems]
    if not _report(result, options):
        problems.append(f"{options.output_file}: cannot be written; the report went to stdout")
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    if problems:
        return _FAILED
    return _FOUND if result.failing and not options.exit_zero else _CLEAN


def _report(result: Result, options: _Check) -> bool:
    """Writes the report; False when it had to go to standard output instead of its file."""
    from gradlint.output import wants_colour, write, write_file

    if options.output_file is not None:
        try:
            write_file(_lines(result, options, colour=False), options.output_file)
            return True
        except OSError:
            pass
    write(_lines(result, options, wants_colour(sys.stdout)), sys.stdout)
    return options.output_file is None


def _lines(result: Result, options: _Check, colour: bool) -> Iterator[str]:
    """The report and, if wanted, the statistics: beside the report where programs read it."""
    from gradlint.output import write
    from gradlint.report import Look, renderer
    from gradlint.report._statistics import statistics

    yield from renderer(options.output_format)(result, Look(colour, not options.quiet))
    if options.statistics and options.output_format in ("full", "concise"):
        yield from statistics(result)
    elif options.statistics:
        write(statistics(result), sys.stderr)


# ------------------------------------------------------------------------------ explain, rules


@app.command()
@click.argument("rule", metavar="CODE")
def explain(rule: str) -> None:
    """Print what a rule is about: CODE is a code or a name."""
    from gradlint.output import write
    from gradlint.rules import all_rules
    from gradlint.selection import UnknownRule, selector

    try:
        found = all_rules().get(selector(rule, all_rules()))
    except UnknownRule as error:
        text = f"{error} `gradlint rules` lists them all."
        raise click.BadParameter(text, param_hint="CODE") from error
    if found is None:
        text = f"`{rule}` stands for several rules; name one. `gradlint rules` lists them all."
        raise click.BadParameter(text, param_hint="CODE")
    head = (
        f"{found.code} {found.slug} ({found.severity.value}, {found.confidence.value} confidence)"
    )
    write([head, "", *found.page.strip().splitlines()])


@app.command()
@_one_of("--output-format", ("text", "json"), default="text", help="How rules are listed.")
def rules(output_format: str) -> None:
    """List all rules."""
    from gradlint.output import write
    from gradlint.rules import all_rules

    listed = list(all_rules().values())
    write(_rules_as_json(listed) if output_format == "json" else _rules_as_text(listed))


def _rules_as_text(listed: Sequence[Rule]) -> Iterator[str]:
    width = max(len(rule.slug) for rule in listed)
    for rule in listed:
        yield f"{rule.code} {rule.slug:<{width}} {rule.severity.value:<7} {rule.title}"


def _rules_as_json(listed: Sequence[Rule]) -> Iterator[str]:
    import json

    from gradlint.selection import is_pedantic

    described = [
        {
            "code": rule.code,
            "rule": rule.slug,
            "severity": rule.severity.value,
            "confidence": rule.confidence.value,
            "pedantic": is_pedantic(rule),
            "title": rule.title,
        }
        for rule in listed
    ]
    document = {
        "version": 1,
        "tool": {"name": "gradlint", "version": __version__},
        "rules": described,
    }
    yield json.dumps(document, indent=2)
