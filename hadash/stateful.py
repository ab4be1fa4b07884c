"""Rows whose status only their state machine changes. ``tests/test_stateful.py`` holds that nothing else sets one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from django.db import models

from hadash.machines import Machine
from hadash.refusals import Refused
from hadash.sentences import Sentence
from hadash.shown import Shown


class Stateful(models.Model):
    """A row with a ``status`` and the machine of it."""

    MACHINE: ClassVar[Machine[Any, Any]]
    #: Each status as people see it.
    SHOWN: ClassVar[Mapping[Any, Shown]]

    class Meta:
        abstract = True

    @property
    def current(self) -> Any:
        """The status, as a member of its enumeration."""
        raise NotImplementedError

    def cannot_change(self) -> Sentence:
        """What somebody reads who wants what the status does not allow (any more)."""
        raise NotImplementedError

    @property
    def shown(self) -> Shown:
        """The status as people see it."""
        return self.SHOWN[self.current]

    @property
    def open(self) -> bool:
        """Whether something can still come of it."""
        return self.current in self.MACHINE.open

    def move(self, event: Any) -> None:
        """Set the status that follows; the caller saves.

        :raises IllegalMove: the status does not allow it, and stays.
        """
        self.status = self.MACHINE.after(self.current, event).value

    def locked_and_moved(self, event: Any) -> Self:
        """The locked row with its new status, not saved yet. :raises Refused: the status does not allow it."""
        held = self.locked()
        held.move_or_refuse(event)
        return held

    def move_or_refuse(self, event: Any) -> None:
        """As :meth:`move`, for what people ask for. :raises Refused: the status does not allow it, and stays."""
        self.refuse_unless(event)
        self.move(event)

    def refuse_unless(self, event: Any) -> None:
        """:raises Refused: the status does not allow ``event``."""
        if not self.MACHINE.allows(self.current, event):
            raise Refused(self.cannot_change())

    def locked(self) -> Self:
        """The row as it is now, locked until the end of the transaction."""
        return type(self)._default_manager.select_for_update(of=("self",)).get(pk=self.pk)
