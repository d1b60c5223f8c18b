"""The code of the tutorials runs as printed."""

import re
from pathlib import Path

import pytest

from kinecast import Mechanism

DOCS = Path(__file__).parents[1] / "docs"


PAGES = {
    "quickstart.md": "puma560",
    "simulate.md": "completed",
    "equations.md": "M33",
    "lifting.md": "optimal",
    "ergonomics.md": "compression",
}


@pytest.mark.parametrize(("page", "says"), PAGES.items())
def test_the_code_of_a_page_runs(page, says, printed_by):
    assert says in printed_by(page)


def test_every_link_between_pages_leads_somewhere():
    broken = []
    for page in [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken


def test_the_operation_counts_of_the_tables_are_those_of_the_engine():
    """Inverse dynamics and forward dynamics of six joints, the columns n = 6 of docs/theory/counts.md."""
    text = (DOCS / "theory" / "counts.md").read_text(encoding="utf-8")
    inverse, forward, *_ = re.split(r"^## ", text, flags=re.MULTILINE)[2:]
    from_torques = forward.split("*from the torques*")[1]
    chain = Mechanism.serial(6)
    row = re.compile(r"^\| \*\*`(\w+)`\*\* \|[^|]*\| \*\*([\d,]+) \+ ([\d,]+)\*\*", re.MULTILINE)
    seen = []
    for algorithm, table in (("inverse_dynamics", inverse), ("forward_dynamics", from_torques)):
        for method, products, sums in row.findall(table):
            counts = chain.operation_counts(algorithm, method=method)
            printed = tuple(int(x.replace(",", "")) for x in (products, sums))
            assert printed == (counts.multiplications + counts.divisions, counts.additions), (algorithm, method)
            seen.append(method)
    assert len(seen) == 6 + 4
