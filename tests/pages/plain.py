"""Somebody whose browser runs no scripts: sees what a page shows then, follows its links, fills in its real forms.

Nothing is sent that the form doesn't hold; what a browser refuses to send (an empty required field) fails the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.test import Client

from runs import models

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

_ALONE = {
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "wbr",
}
_INLINE = {"a", "abbr", "b", "bdi", "code", "del", "em", "i", "ins", "kbd", "mark", "span", "strong", "time"}
_TYPED = {"input", "select", "textarea"}
_UNSEEN = {"script", "style", "template", "dialog", "head"}


@dataclass(eq=False)
class Part:
    """One element of a page."""

    tag: str
    attributes: dict[str, str]
    parts: list[Part | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Part]:
        """Walk over what somebody without scripts can come to; a folded part can be opened."""
        for part in self.parts:
            if isinstance(part, Part) and not part.away:
                yield part
                yield from part

    @property
    def away(self) -> bool:
        """Return whether it is there for scripts only."""
        return (
            self.tag in _UNSEEN
            or "hidden" in self.attributes
            or "needs-js" in self.attributes.get("class", "").split()
        )

    @property
    def words(self) -> str:
        """Return what is read, on one line; what stands in a field is no part of it."""
        return " ".join(self._text.split())

    @property
    def _text(self) -> str:
        found = [
            part if isinstance(part, str) else part._text if part.tag in _INLINE else f" {part._text} "
            for part in self.parts
            if isinstance(part, str) or not (part.away or part.tag in _TYPED)
        ]
        return "".join(found)

    def all(self, *tags: str) -> list[Part]:
        """Return the parts of these tags."""
        return [part for part in self if part.tag in tags]

    def get(self, name: str) -> str:
        """Return an attribute, or nothing."""
        return self.attributes.get(name, "")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.whole = Part("", {})
        self._open = [self.whole]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Part(tag, {name: value or "" for name, value in attrs})
        self._open[-1].parts.append(made)
        if tag not in _ALONE:
            self._open.append(made)

    def handle_endtag(self, tag: str) -> None:
        for place in range(len(self._open) - 1, 0, -1):
            if self._open[place].tag == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].parts.append(data)


def read(page: str) -> Part:
    """Return the page as its parts."""
    reader = _Reader()
    reader.feed(page.replace("\r\n", "\n"))
    reader.close()
    return reader.whole


class Visitor:
    """Somebody signed in, and the page that they are on."""

    def __init__(self, user: models.User) -> None:
        self.client = Client(enforce_csrf_checks=True)
        self.client.force_login(user)
        self.place = "/"
        self.page = Part("", {})

    @property
    def words(self) -> str:
        """Return what is read on the page."""
        return self.page.words

    def go(self, place: str) -> Visitor:
        """Open an address."""
        self._came(self.client.get(place, follow=True), place)
        return self

    def follow(self, words: str) -> Visitor:
        """Follow the link of these words."""
        links = [link for link in self.page.all("a") if link.get("href")]
        return self.go(urljoin(self.place, _one(links, words).get("href")))

    def send(self, button: str, given: dict[str, Any] | None = None, *, status: int = 200) -> Visitor:
        """Fill in the one form that has this button and these labels, and press the button.

        A tick box or a choice is given as True or False, a file as its name and bytes, everything else as its text.
        """
        given = given or {}
        forms = [form for form in self.page.all("form") if _holds(form, button, given)]
        assert len(forms) == 1, f"{len(forms)} forms with {button!r} and {list(given)} at {self.place}"
        self._press(forms[0], button, given)
        assert self.answer.status_code == status, (self.answer.status_code, self.words)
        return self

    def _press(self, form: Part, button: str, given: dict[str, Any]) -> None:
        pressed = _one(_buttons(form), button)
        typed = {id(_control(form, label)): value for label, value in given.items()}
        chosen = {part.get("name") for part in form if part.get("type") == "radio" and typed.get(id(part))}
        for part in form:  # one choice takes the place of the other
            if part.get("type") == "radio" and part.get("name") in chosen:
                typed.setdefault(id(part), False)
        sent = [pair for control in _controls(form) for pair in _sent(control, typed.get(id(control)))]
        if "novalidate" not in form.attributes and "formnovalidate" not in pressed.attributes:
            _filled(form, sent)
        if pressed.get("name"):
            sent.append((pressed.get("name"), pressed.get("value")))
        target = urljoin(self.place, form.get("action") or self.place)
        if form.get("method") != "post":
            query = QueryDict(mutable=True)
            for name, value in sent:
                query.appendlist(name, value)
            self.go(f"{target.partition('?')[0]}?{query.urlencode()}")
            return
        lists: dict[str, list[Any]] = {}
        for name, value in sent:
            lists.setdefault(name, []).append(value)
        referer = f"http://testserver{self.place}"
        self._came(self.client.post(target, lists, follow=True, headers={"Referer": referer}), target)

    def _came(self, answer: Answer, place: str) -> None:
        self.answer, chain = answer, getattr(answer, "redirect_chain", [])
        self.place = urljoin(place, chain[-1][0]) if chain else place
        assert answer.status_code < 500, self.place
        self.page = read(answer.content.decode())


def _one(parts: list[Part], words: str) -> Part:
    """Return the part of exactly these words, else the one that begins with them."""
    same = [part for part in parts if part.words == words]
    found = same or [part for part in parts if part.words.startswith(words)]
    assert found, f"{words!r} is none of {[part.words for part in parts]}"
    assert len(found) == 1, f"{len(found)} are called {words!r}"
    return found[0]


def _buttons(form: Part) -> list[Part]:
    return [
        part
        for part in form.all("button")
        if part.get("type") == "submit" and "disabled" not in part.attributes and not part.get("aria-hidden")
    ]


def _controls(form: Part) -> list[Part]:
    """Return what is sent of the form, were it sent now; hidden fields too."""
    return [
        part for part in form if part.tag in _TYPED and part.get("name") and "disabled" not in part.attributes
    ]


def _labels(form: Part) -> list[tuple[str, Part]]:
    found = []
    for label in form.all("label"):
        inside = [part for part in label if part.tag in _TYPED]
        outside = [part for part in form if part.tag in _TYPED and part.get("id") == label.get("for")]
        found += [(label.words, part) for part in (outside if label.get("for") else inside)]
    return found


def _control(form: Part, label: str) -> Part:
    labels = _labels(form)
    same = [part for words, part in labels if words == label]
    found = same or [part for words, part in labels if words.startswith(label)]
    assert len(found) == 1, f"{label!r} names {len(found)} of {[words for words, _ in labels]}"
    assert "disabled" not in found[0].attributes, label
    return found[0]


def _holds(form: Part, button: str, given: dict[str, Any]) -> bool:
    labels = [words for words, _ in _labels(form)]
    return any(part.words.startswith(button) for part in _buttons(form)) and all(
        any(words.startswith(label) for words in labels) for label in given
    )


def _sent(control: Part, given: Any) -> list[tuple[str, Any]]:
    name, kind = control.get("name"), control.get("type")
    if kind in {"radio", "checkbox"}:
        on = "checked" in control.attributes if given is None else given
        return [(name, control.get("value") or "on")] if on else []
    if kind == "file":
        return [(name, SimpleUploadedFile(*given))] if given else []
    if control.tag == "select":
        return [(name, _chosen(control, given))]
    if control.tag == "textarea":
        text = "".join(part for part in control.parts if isinstance(part, str)).removeprefix("\n")
        return [(name, (text if given is None else given).replace("\n", "\r\n"))]
    text = control.get("value") if given is None else given
    return [(name, text if kind == "hidden" else text.replace("\n", ""))]


def _chosen(select: Part, given: str | None) -> str:
    options = select.all("option")
    if given is not None:
        return _one(options, given).get("value")
    return next((part for part in options if "selected" in part.attributes), options[0]).get("value")


def _filled(form: Part, sent: list[tuple[str, Any]]) -> None:
    """Refuse what a browser refuses: a required field with nothing in it."""
    there = {name for name, value in sent if value}
    needed = {part.get("name") for part in _controls(form) if "required" in part.attributes}
    assert needed <= there, f"a browser asks for {needed - there}"
