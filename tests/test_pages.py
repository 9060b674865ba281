"""README.md and docs/: links lead somewhere, every page is linked, and what they name exists."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("[!.]*/README.md"))]


def prose(page):
    """The page without its code."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.S | re.M)


def links(page):
    """(file, anchor) of each link into the repository."""
    found = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    parts = [link.partition("#") for link in found if "://" not in link]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in parts]


def anchors(page):
    """What GitHub makes of the page's headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_lead_somewhere(page):
    for target, anchor in links(page):
        assert target.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to #{anchor} of {target.name}"


def test_every_page_is_linked_from_another():
    linked = {target for page in PAGES for target, _ in links(page) if target != page}
    assert set(PAGES[1:]) <= linked


def test_commands_that_pages_show_exist():
    rules = set(re.findall(r"^([\w-][\w -]*):", (ROOT / "Makefile").read_text(), flags=re.M))
    known = {name for rule in rules for name in rule.split()}
    shown = {(page.name, name) for page in PAGES for name in re.findall(r"`make ([\w-]+)", page.read_text())}
    assert {(page, name) for page, name in shown if name not in known} == set()


def test_the_house_has_every_room():
    """docs/architecture.md names the folders at the top, and those in core, ms_adapter and its tools."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition("## The house")[2].partition("## One call")[0]
    named = {part for name in re.findall(r"`([\w/.]+)`", table) for part in name.split("/")}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not tracked:
        pytest.skip("no checkout")
    floors = re.compile(r"(?:core/|ms_adapter/(?:tools/)?)?([^./]+)/")
    rooms = {floors.match(name).group(1) for name in tracked if floors.match(name)}
    assert sorted(rooms - named) == []
