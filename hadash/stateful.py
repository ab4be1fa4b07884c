"""Rows whose status only their state machine changes. ``tests/test_stateful.py`` ensures that nothing else sets
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from django.db import models

from hadash.machines import Machine
from hadash.refusals import Refused
from hadash.sentences import Sentence
from hadash.shown import Shown


class Stateful(models.Model):
    """A row with a ``status`` and its state machine."""

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
        """The reason shown to a person who asks for something that the status does not allow, or no longer allows."""
        raise NotImplementedError

    @property
    def shown(self) -> Shown:
        """The status as people see it."""
        return self.SHOWN[self.current]

    @property
    def open(self) -> bool:
        """Whether the status can still change."""
        return self.current in self.MACHINE.open

    def allows(self, event: Any) -> bool:
        """Whether the state allows ``event``, as the row was read."""
        return self.MACHINE.allows(self.current, event)

    def move(self, event: Any) -> None:
        """Set the status that follows ``event``; the caller saves.

        :raises IllegalMove: the status does not allow it, and stays.
        """
        self.status = self.MACHINE.after(self.current, event).value

    def locked_and_moved(self, event: Any) -> Self:
        """The locked row with its new status, not yet saved. :raises Refused: the status does not allow ``event``."""
        held = self.locked()
        held.move_or_refuse(event)
        return held

    def move_or_refuse(self, event: Any) -> None:
        """Like :meth:`move`, for people's requests. :raises Refused: the status does not allow ``event``, and
        stays.
        """
        self.refuse_unless(event)
        self.move(event)

    def refuse_unless(self, event: Any) -> None:
        """Do nothing if the status allows ``event``. :raises Refused: it does not."""
        if not self.allows(event):
            raise Refused(self.cannot_change())

    def locked(self) -> Self:
        """The current row, locked until the end of the transaction."""
        return type(self)._default_manager.select_for_update(of=("self",)).get(pk=self.pk)
