"""SVG by hand: elements with escaped attributes, and no style that a strict page would refuse."""

from html import escape

from markupsafe import Markup


def tag(name: str, *inside: str, **attributes: str | float | None) -> Markup:
    """One element around markup; ``_`` in attribute names becomes ``-``, a trailing one is dropped.

    >>> tag("rect", x=1.25, width="40%", class_="bar")
    Markup('<rect x="1.25" width="40%" class="bar"/>')
    >>> tag("text", text("<b>"), x=0)
    Markup('<text x="0">&lt;b&gt;</text>')
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    content = "".join(inside)
    return Markup(f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>")


def text(content: str) -> Markup:
    """Escaped text, whatever a user wrote in it."""
    return Markup(escape(content, quote=False))


def title(content: str) -> Markup:
    """The tooltip of an element."""
    return tag("title", text(content))


def figure(width: float, height: float, *inside: str, label: str, class_: str = "figure") -> Markup:
    """A figure that scales with the page, with a label for screen readers."""
    return tag(
        "svg",
        *inside,
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        class_=class_,
        role="img",
        aria_label=label,
    )


def path(points: list[tuple[float, float]]) -> str:
    """A line through points.

    >>> path([(0, 1), (2.5, 3)])
    'M0 1L2.5 3'
    """
    return "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
