"""Django's settings. Everything that differs between installations comes from the environment; defaults are the
sandbox's. A module each has what one subject needs; a setting stands with the comment that says why it is so.
"""

from hadash.settings.accounts import *
from hadash.settings.api import *
from hadash.settings.audit import *
from hadash.settings.monitoring import *
from hadash.settings.notices import *
from hadash.settings.outbox import *
from hadash.settings.pipeline import *
from hadash.settings.pools import *
from hadash.settings.reports import *
from hadash.settings.servers import *
from hadash.settings.switching import *
from hadash.settings.watching import *
from hadash.settings.web import *
