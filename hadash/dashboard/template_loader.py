"""Templates without the indentation that they are laid out with: a page of a hundred rows would send a third more.

It is taken away once, when a template is read. What HTML shows as it stands (``pre``, ``textarea``) is left alone,
and so is text that is no HTML (mails).
"""

from __future__ import annotations

import re

from django.template.base import Origin
from django.template.loaders import filesystem

#: Elements whose text is shown as it stands, with all that is in them; else the whitespace at the beginning of a line.
_INDENTATION = re.compile(r"(<(pre|textarea)\b.*?</\2>)|(?<=\n)[ \t]+", re.DOTALL)


def without_indentation(html: str) -> str:
    r"""Line breaks stay, so that errors name the right line.

    >>> without_indentation("<ul>\n  <li>\n    orders</li>\n</ul>\n<pre>\n  as it is</pre>\n  <p>")
    '<ul>\n<li>\norders</li>\n</ul>\n<pre>\n  as it is</pre>\n<p>'
    """
    return _INDENTATION.sub(lambda found: found.group(1) or "", html)


class Loader(filesystem.Loader):
    """Of the folders in ``DIRS``."""

    def get_contents(self, origin: Origin) -> str:
        contents = super().get_contents(origin)
        return without_indentation(contents) if str(origin.name).endswith(".html") else contents
