"""What MkDocs does for this site beside its settings.

Pages that live elsewhere in the repository and notebooks join the site, links follow them, measured
figures are filled in, formulas become MathML, which browsers draw without a script, and a page that
would load something from another host ends the build.
"""

import posixpath
import re
from html import unescape
from pathlib import Path
from typing import Any

from figures import fill
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from notebooks import as_markdown

ROOT = Path(__file__).parent.parent
PLACES = {
    "models/README.md": "gallery.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "docs/tutorials/evaluation.ipynb": "tutorials/evaluation.md",
}
"""Pages that are not Markdown in this folder, by their place on the site."""

HOMES = {place: home for home, place in PLACES.items()}

LINK = re.compile(r"\[([^\[\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
FUNCTION = re.compile(r"<m[io]>([a-z]{2,})</m[io]>(?=(<m(?:i|n|sub|over|frac)\b)?)")
ELSEWHERE = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(?:https?:)?//[^>]*>")
STYLES = re.compile(r"<link\b[^>]*rel=\"?(?:stylesheet|preconnect|preload)\"?[^>]*//[^>]*>")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that live outside this folder, and notebooks."""
    for place, home in HOMES.items():
        text = (ROOT / home).read_text(encoding="utf-8")
        text = as_markdown(text) if home.endswith(".ipynb") else text
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Fill in figures, and lead links to pages on the site; other files are only named."""
    try:
        markdown = fill(markdown)
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error
    here = page.file.src_uri
    folder = posixpath.dirname(HOMES.get(here, posixpath.join("docs", here)))

    def follow(link: re.Match[str]) -> str:
        words, path, place = link[1], link[2], link[3] or ""
        target = posixpath.normpath(posixpath.join(folder, path))
        found = PLACES.get(target, target.removeprefix("docs/"))
        file = files.get_file_from_path(found)
        if file is not None and file.inclusion.is_included():
            return f"[{words}]({posixpath.relpath(found, posixpath.dirname(here) or '.')}{place})"
        return words if (ROOT / target).exists() else link[0]

    return LINK.sub(follow, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Turn formulas into MathML."""

    def draw(formula: re.Match[str]) -> str:
        kind = "block" if formula[1] == "div" else "inline"
        math = FUNCTION.sub(name, convert(unescape(formula[2]).strip(), display=kind))
        return f'<div class="formula">{math}</div>' if kind == "block" else math

    def name(function: re.Match[str]) -> str:
        return f"<mi>{function[1]}</mi>" + ('<mspace width="0.17em" />' if function[2] else "")

    return FORMULA.sub(draw, html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Refuse what a reader's browser would fetch from another host."""
    for pattern in (ELSEWHERE, STYLES):
        if found := pattern.search(output):
            raise PluginError(f"{page.file.src_uri} loads from another host: {found[0]}")
    return output
