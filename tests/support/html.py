"""The elements of an HTML page, for the tests of the reports."""

from html.parser import HTMLParser

_VOID = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """The identifiers, links, plots and words of a page in which each tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.plots: list[str] = []
        self._words: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        lists = {
            "id": self.ids,
            "href": self.links,
            "src": self.sources,
            "data-figure": self.plots,
        }
        for name, value in attrs:
            if name in lists:
                lists[name].append(value or "")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self._words.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self._words).split())
