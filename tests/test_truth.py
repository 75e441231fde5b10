"""What a fixture says about gradients is run on torch, so no fixture can be wrong about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from truth import Claim, claims, load, untruths

ROOT = Path(__file__).parent / "fixtures"
CLAIMS = [
    pytest.param(path, claim, id=f"{path.stem}-{claim.name}")
    for path in sorted(ROOT.rglob("*.py"))
    for claim in claims(path.read_text(encoding="utf-8"))
]


def test_there_are_claims() -> None:
    assert CLAIMS


@pytest.mark.parametrize(("path", "claim"), CLAIMS)
def test_gradients(path: Path, claim: Claim) -> None:
    assert untruths(claim, getattr(load(path), claim.name)) == []
