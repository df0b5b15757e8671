"""A notebook as a page of Markdown, with the outputs that it was saved with."""

import json
from typing import Any


def as_markdown(notebook: str) -> str:
    """Write a Jupyter notebook as Markdown: code, what it printed, and its figures.

    Args:
        notebook: content of the file; a cell's metadata may hold the ``alt`` text of its figure.
    """
    blocks = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            blocks.append(source)
            continue
        blocks.append(f"```python\n{source}\n```")
        alt = cell["metadata"].get("alt", "")
        blocks += (_show(out, alt) for out in cell["outputs"] if out.get("name") != "stderr")
    return "\n\n".join(blocks) + "\n"


def _show(output: dict[str, Any], alt: str) -> str:
    """One output: a figure, or else text."""
    data = output.get("data", {})
    if "image/png" in data:
        encoded = "".join(data["image/png"]).replace("\n", "")
        return f"![{alt}](data:image/png;base64,{encoded})"
    text = "".join(output.get("text") or data["text/plain"])
    return f"```text\n{text.rstrip()}\n```"
