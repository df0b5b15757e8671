"""What the package says of itself where it is installed from."""

import re
from importlib.metadata import metadata

ABOUT = metadata("cordial-ppl")


def test_links_of_the_readme_lead_somewhere_without_the_repository():
    urls = dict(url.split(", ") for url in ABOUT.get_all("Project-URL", []))
    base = urls["Repository"]
    assert all(url.startswith(base) for url in urls.values()) and len(urls) == 4
    links = re.findall(r"\]\(([^)]+)\)", ABOUT["Description"])
    picture = f"{base}/raw/v{ABOUT['Version']}/docs/picture.svg"
    assert picture in links and all(link.startswith(("https://", "#")) for link in links)
