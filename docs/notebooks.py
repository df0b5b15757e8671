"""A notebook as a page of Markdown, with the outputs that it was saved with."""

import json
from typing import Any


def as_markdown(notebook: str) -> str:
    """Write a Jupyter notebook as Markdown: code and text as fences, each figure behind its cell.

    Args:
        notebook: content of the file.
    """
    blocks = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            blocks.append(source)
            continue
        blocks.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            blocks.append(_show(output, cell["metadata"].get("alt", "")))
    return "\n\n".join(blocks) + "\n"


def _show(output: dict[str, Any], alt: str) -> str:
    """One output: a figure, or else text."""
    data = output.get("data", {})
    if "image/png" in data:
        encoded = "".join(data["image/png"]).replace("\n", "")
        return f"![{alt}](data:image/png;base64,{encoded})"
    text = "".join(output.get("text") or data["text/plain"])
    return f"```text\n{text.rstrip()}\n```"
