"""Every example in the face's docstrings runs and prints what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import ms_adapter.pytorch as face

PAGES = [page for page in (Path(__file__).parents[2] / "docs").glob("*.md") if ">>>" in page.read_text()]
MODULES = [info.name for info in pkgutil.walk_packages(face.__path__, face.__name__ + ".")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={"torch": face}).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_pages(page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) > 40
