"""Elements of a page of HTML, to be looked at."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """Elements that were opened and closed, with their attributes, and the cells of tables."""

    def __init__(self, page):
        super().__init__()
        self.open, self.found, self.words, self.rows = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if {"th", "td"} & set(self.open):
            self.rows[-1][-1] += data
