"""Markdown as a tree of a few elements, from which the page makes nodes: never HTML of a text."""

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

Node = str | list
"""Text; or an element: its tag, its nodes, and of a list the number that it begins with."""

REFUSED = ["link", "image", "autolink", "reference", "html_inline", "html_block", "entity"]
"""What stays as it is written: nothing leads out of the page, and nothing is hidden."""

PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True})
PARSER.enable("table").disable(REFUSED)

PLAIN = {"code_inline": "code", "fence": "pre", "code_block": "pre"}
"""Tags of what holds text alone."""


def as_tree(text: str) -> list[Node]:
    """Parse a text as CommonMark with tables."""
    return _list_nodes(SyntaxTreeNode(PARSER.parse(text)))


def _list_nodes(parent: SyntaxTreeNode) -> list[Node]:
    """List the nodes below one; what has no element of its own is replaced by what is in it."""
    nodes: list[Node] = []
    for node in parent.children:
        if node.type in PLAIN:
            nodes.append([PLAIN[node.type], [node.content]])
        elif node.type in ("softbreak", "hardbreak"):
            nodes.append(["br", []])
        elif not node.is_nested and not node.children and node.type != "hr":
            nodes += [node.content] if node.content else []
        elif node.type == "inline" or node.hidden:
            nodes += _list_nodes(node)
        else:
            start = [node.attrs["start"]] if "start" in node.attrs else []
            nodes.append([node.tag, _list_nodes(node), *start])
    return nodes
