"""What a browser sends back of a form that nobody touched: its controls read as HTML says, line breaks as two."""

from __future__ import annotations

from html.parser import HTMLParser

from django.template.loader import render_to_string

from runs.forms.schemas import Field


class _Form(HTMLParser):
    def __init__(self, form: str = "") -> None:
        super().__init__(convert_charrefs=True)
        self.sent: dict[str, list[str]] = {}
        self._area: tuple[str, list[str]] | None = None
        self._select: str | None = None
        self._options: list[tuple[str, bool]] = []
        self._form = form
        self._inside = not form

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value if value is not None else "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "form" and self._form:
            self._inside = given.get("id") == self._form
        if not self._inside:
            return
        match tag:
            case "input" if given.get("type") in {"radio", "checkbox"}:
                if "checked" in given:
                    self._add(name, given["value"])
            case "input":
                value = given.get("value", "")
                self._add(name, value if given.get("type") == "hidden" else value.replace("\n", ""))
            case "textarea":
                self._area = (name, [])
            case "select":
                self._select, self._options = name, []
            case "option":
                self._options.append((given["value"], "selected" in given))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area[1].append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._form:
            self._inside = False
        if tag == "textarea" and self._area is not None:
            name, parts = self._area
            self._add(name, "".join(parts).removeprefix("\n"))
            self._area = None
        elif tag == "select" and self._select is not None and self._options:
            chosen = [value for value, selected in self._options if selected]
            self._add(self._select, chosen[-1] if chosen else self._options[0][0])
            self._select = None

    def _add(self, name: str, value: str) -> None:
        if not name:
            return
        value.encode("utf-8")  # a browser can send nothing else
        assert "\x00" not in value
        value = value.replace("\r\n", "\n").replace("\r", "\n")
        self.sent.setdefault(name, []).append(value.replace("\n", "\r\n"))


def untouched(field: Field) -> dict[str, list[str]]:
    """Return what is sent of the form of this field as it was drawn."""
    form = _Form()
    form.feed(render_to_string("_fields/field.html", {"field": field, "marks": True}))
    form.close()
    return form.sent


def sent(page: str, *, form: str) -> dict[str, list[str]]:
    """Return what is sent of the page's form of this id as it was drawn."""
    found = _Form(form)
    found.feed(page)
    found.close()
    return found.sent
