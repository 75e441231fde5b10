"""JSON for programs: version 1, stable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gradlint import __version__
from gradlint.model import Finding, Fix, Related, Severity

if TYPE_CHECKING:
    from gradlint.engine import Result
    from gradlint.report import Look


def render(result: Result, look: Look) -> Iterator[str]:
    """Yields one document."""
    errors = sum(finding.severity is Severity.ERROR for finding in result.findings)
    document = {
        "version": 1,
        "tool": {"name": "gradlint", "version": __version__},
        "findings": [_finding(finding) for finding in result.findings],
        "summary": {
            "files": result.files,
            "findings": len(result.findings),
            "errors": errors,
            "warnings": len(result.findings) - errors,
            "fixable": sum(finding.fix is not None for finding in result.findings),
        },
    }
    yield json.dumps(document, indent=2)


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "path": finding.path,
        **asdict(finding.span),
        "cell": finding.cell,
        "symbol": finding.symbol,
        "message": finding.message,
        "why": finding.why,
        "help": finding.help,
        "parameters": list(finding.parameters),
        "related": [_related(note) for note in finding.related],
        "fix": finding.fix and _fix(finding.fix),
        "fingerprint": finding.fingerprint,
        "verdict": None,
        "url": finding.url,
    }


def _related(note: Related) -> dict[str, Any]:
    return {
        "path": note.path,
        "line": note.span.line,
        "column": note.span.column,
        "message": note.message,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": "safe" if fix.safe else "unsafe",
        "message": fix.message,
        "edits": [{**asdict(edit.span), "content": edit.content} for edit in fix.edits],
    }
