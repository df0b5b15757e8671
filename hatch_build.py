"""Metadata of the package that depends on the repository's address (`base` in pyproject.toml)."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\[\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


class RepositoryLinks(MetadataHookInterface):
    """URLs of the project, and README whose links and picture work away from the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add `urls` and `readme`."""
        base, tag = self.config["base"], f"v{metadata['version']}"
        text = Path(self.root, "README.md").read_text(encoding="utf-8")

        def absolute(link: re.Match[str]) -> str:
            kind = "raw" if link[1] else "blob"  # A picture itself, or the page that shows a file.
            return f"{link[1]}[{link[2]}]({base}/{kind}/{tag}/{link[3]})"

        metadata["readme"] = {"content-type": "text/markdown", "text": LINK.sub(absolute, text)}
        metadata["urls"] = {
            "Repository": base,
            "Documentation": f"{base}/blob/{tag}/docs/index.md",
            "Changelog": f"{base}/blob/{tag}/CHANGELOG.md",
            "Issues": f"{base}/issues",
        }
