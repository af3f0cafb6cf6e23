"""HTML pages that need nothing but themselves: one template environment, one head, one content policy.

A package with pages of its own keeps its templates in a folder ``templates`` and passes its name to `render_page`.
Its templates extend ``page.html``, which has the blocks ``title``, ``main`` and ``color_scheme``.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eigenclean.assets import bundle
from eigenclean.report import figures, formatting

_HERE = "eigenclean.report"
_FILTERS = ("between", "count", "percent", "plural", "probability", "score", "short")


def render_page(
    template: str,
    values: Mapping[str, Any],
    *,
    package: str = _HERE,
    styles: Sequence[str] = ("page.css",),
    script: str | None = None,
    shared: Mapping[str, str] | None = None,
) -> str:
    """Render a template to one self-contained page that the browser lets load nothing.

    Args:
        template: name of the template.
        values: what the template shows; texts are escaped.
        package: where the template is looked for, before `eigenclean.report`.
        styles: names of style sheets, which are put into the page in this order.
        script: name of a script, likewise.
        shared: contents of style sheets that are not templates, and of modules that the script imports, by name.
    """
    environment, shared = _environment(package), shared or {}
    style = "\n".join(shared[name].strip() if name in shared else _source(environment, name) for name in styles)
    code = "" if script is None else _source(environment, script)
    if script is not None and shared:
        code = bundle({**shared, script: code}, script)
    return environment.get_template(template).render(
        **values,
        style=Markup(style),  # files of the package, not texts of a user
        script=Markup(code),
        policy=content_policy(style, code),
    )


def content_policy(style: str, script: str) -> str:
    """What the browser may load: this style, this script, images inside the page, and nothing else.

    >>> content_policy("", "")[:34]
    "default-src 'none'; img-src data:;"
    """
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0].strip()


@cache
def _environment(package: str) -> Environment:
    loaders = [PackageLoader(name) for name in dict.fromkeys((package, _HERE))]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {name: getattr(formatting, name) for name in _FILTERS}
    environment.globals["figures"] = figures
    return environment
