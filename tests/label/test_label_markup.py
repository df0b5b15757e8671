"""Markdown as a tree of few elements."""

import pytest

from cordial_ppl.label.markup import as_tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", []),
        ("a *b*\nc", [["p", ["a ", ["em", ["b"]], ["br", []], "c"]]]),
        ("# h\n***", [["h1", ["h"]], ["hr", []]]),
        ("3. x\n4. y", [["ol", [["li", ["x"]], ["li", ["y"]]], 3]]),
        ("- x\n\n- y", [["ul", [["li", [["p", ["x"]]]], ["li", [["p", ["y"]]]]]]]),
        ("```js\n<b>\n```", [["pre", ["<b>\n"]]]),
        ("`<b>` &lt; &amp;", [["p", [["code", ["<b>"]], " &lt; &amp;"]]]),
        ("> q", [["blockquote", [["p", ["q"]]]]]),
        ("<div onclick=x>\n\n<!-- c -->", [["p", ["<div onclick=x>"]], ["p", ["<!-- c -->"]]]),
        ("[x](http://a.example) <http://b.example>\n\n[r]: http://c.example", None),
    ],
)
def test_markdown_becomes_a_tree(text, tree):
    made = as_tree(text)
    if tree is None:  # Nothing leads anywhere, and nothing of it is hidden.
        tree = [["p", [text.partition("\n")[0]]], ["p", [text.rpartition("\n")[2]]]]
    assert made == tree


def test_a_table_has_rows():
    ((tag, (head, body)),) = as_tree("| a | b |\n|---|---|\n| 1 | 2 |")
    assert (tag, head[0], body[0]) == ("table", "thead", "tbody")
    assert body[1] == [["tr", [["td", ["1"]], ["td", ["2"]]]]]


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 50_000, "> " * 25_000, "*a " * 17_000),
        pytest.param("a\n" * 25_000, marks=pytest.mark.nightly),
    ],
)
def test_long_texts_of_any_kind_are_shown(text):
    """Fifty thousand characters, also where parsers are slow or deep."""
    letters = "".join(_list_texts(as_tree(text)))
    assert letters.count("a") == text.count("a") and letters.count("[") == text.count("[")


def _list_texts(nodes):
    for node in nodes:
        yield from [node] if isinstance(node, str) else _list_texts(node[1])
