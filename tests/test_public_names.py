"""Every public name is documented, with an example that runs."""

import inspect
from itertools import pairwise

import pytest

import lime_guarantee

NAMED = {name: getattr(lime_guarantee, name) for name in lime_guarantee.__all__ if not name.startswith("_")}
RAISED = {name: kind for name, kind in NAMED.items() if inspect.isclass(kind) and issubclass(kind, Exception)}
EXAMPLE = "Examples\n--------\n"
UNDERLINES = {"-" * length for length in range(3, 80)}


def own_doc(thing):
    """The docstring of a thing itself; that of a base does not count."""
    return inspect.cleandoc(vars(thing).get("__doc__", "") if inspect.isclass(thing) else thing.__doc__)


def sections(doc):
    """The title and the underline of every section."""
    lines = doc.splitlines()
    return [(title, below) for title, below in pairwise(lines) if below in UNDERLINES]


def section(doc, title):
    """The text of one section; empty if there is none."""
    _, found, rest = doc.partition(f"{title}\n{'-' * len(title)}\n")
    titles = [f"{other}\n{below}\n" for other, below in sections(rest)]
    return rest[: min([rest.index(other) for other in titles], default=len(rest))] if found else ""


def documented(text):
    """The names that a section describes: those of lines that are not indented."""
    heads = [line.partition(" : ")[0] for line in text.splitlines() if line and not line.startswith(" ")]
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def test_the_names_are_sorted_and_exist():
    assert sorted(lime_guarantee.__all__) == lime_guarantee.__all__
    assert set(lime_guarantee.__all__) <= set(dir(lime_guarantee))
    assert len(NAMED) - len(RAISED) >= 20


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_public_name_says_what_it_is_in_a_line_that_ends(name):
    lines = own_doc(NAMED[name]).splitlines()
    assert lines
    assert lines[0].endswith(".")
    assert lines[1:2] in ([], [""]), "an empty line follows the first one"


@pytest.mark.parametrize("name", sorted(set(NAMED) - set(RAISED)))
def test_a_public_name_has_an_example(name):
    _, found, example = own_doc(NAMED[name]).partition(EXAMPLE)
    assert found, f"{name} has no section of examples"
    assert example.startswith(">>> ")


@pytest.mark.parametrize("name", sorted(NAMED))
def test_sections_are_underlined_as_numpydoc_wants_it(name):
    for title, below in sections(own_doc(NAMED[name])):
        assert len(below) == len(title), title


@pytest.mark.parametrize("name", sorted(name for name, thing in NAMED.items() if inspect.isfunction(thing)))
def test_the_parameters_of_a_function_are_described(name):
    code = NAMED[name].__code__  # the signature also shows the settings, which `Settings` describes
    taken = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    assert taken - documented(section(own_doc(NAMED[name]), "Parameters")) == set()
