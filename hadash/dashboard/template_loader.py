"""Templates without their indentation: a page of a hundred rows would otherwise be a third larger.

The indentation is removed once, when a template is read. Preformatted elements (``pre``, ``textarea``) and templates
that are not HTML (mails) are left unchanged.
"""

from __future__ import annotations

import re

from django.template.base import Origin
from django.template.loaders import filesystem

#: A whole preformatted element, or the whitespace at the beginning of a line.
_INDENTATION = re.compile(r"(<(pre|textarea)\b.*?</\2>)|(?<=\n)[ \t]+", re.DOTALL)


def without_indentation(html: str) -> str:
    r"""Remove the indentation. Line breaks stay, so that errors name the right line.

    >>> without_indentation("<ul>\n  <li>\n    orders</li>\n</ul>\n<pre>\n  as it is</pre>\n  <p>")
    '<ul>\n<li>\norders</li>\n</ul>\n<pre>\n  as it is</pre>\n<p>'
    """
    return _INDENTATION.sub(lambda found: found.group(1) or "", html)


class Loader(filesystem.Loader):
    """Loads templates from the folders in ``DIRS``."""

    def get_contents(self, origin: Origin) -> str:
        contents = super().get_contents(origin)
        return without_indentation(contents) if str(origin.name).endswith(".html") else contents
