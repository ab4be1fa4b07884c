"""The chart of how long each stage of a switch took, compared with the last switches of its kind. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.dashboard.charts.chart import BAD, INK, QUIET, Chart, height_of
from hadash.presentation.tables import Column
from hadash.switching.execution.usual import LEAST, usual_of

#: A stage was slower than usual when it took this many times as long as the median of earlier switches, and this
#: many seconds longer: for hundredths of a second, twice as long means nothing.
TIMES_SLOWER, SECONDS_SLOWER = 2.0, 0.5


@dataclass(frozen=True, slots=True)
class StageTime:
    """One stage of the switch. ``word``: its name for people. ``earlier``: its seconds in earlier switches."""

    word: str
    seconds: float
    earlier: Sequence[float] = ()

    @property
    def usual(self) -> float | None:
        """The usual seconds (what half of the earlier switches took at most); ``None`` when they are too few."""
        return usual_of(self.earlier)

    @property
    def times(self) -> float | None:
        """How many times as long as usual it took; ``None`` when it was not slower, or the usual time is unknown."""
        usual = self.usual
        if usual is None or self.seconds - usual < SECONDS_SLOWER:
            return None
        times = self.seconds / max(usual, 0.001)
        return times if times >= TIMES_SLOWER else None


def verdict(stages: Sequence[StageTime]) -> str:
    """Return a sentence with the stages that were slower than usual, the slowest first."""
    if not any(stage.usual is not None for stage in stages):
        return _("There are too few earlier switches of this kind to compare it with.")
    slower = sorted((stage for stage in stages if stage.times), key=lambda stage: -(stage.times or 0))
    if not slower:
        return _("No stage was slower than usual.")
    said = _(", ").join(f"{stage.word} {stage.times:.0f}×" for stage in slower)
    return _("Slower than usual: %(stages)s.") % {"stages": said}


def compared(stages: Sequence[StageTime]) -> Chart:
    """Return the chart: a bar per stage, with a mark at its usual time.

    :param stages: in the order in which they ran.
    """
    words = [stage.word for stage in stages]
    many = max((len(stage.earlier) for stage in stages), default=0)
    ranges = [_range(stage.earlier) for stage in stages]
    return Chart(
        "stages-compared",
        _("Beside earlier switches"),
        (
            Column("stage", _("Stage")),
            Column("seconds", _("This one"), "seconds"),
            Column("usual", _("Usually"), "seconds"),
            Column("least", _("Least"), "seconds"),
            Column("most", _("Most"), "seconds"),
            Column("earlier", _("Earlier switches"), "number"),
        ),
        [
            (stage.word, stage.seconds, stage.usual, low, high, len(stage.earlier))
            for stage, (low, high) in zip(stages, ranges, strict=True)
        ],
        [
            {
                "type": "bar",
                "orientation": "h",
                "y": words,
                "x": [stage.seconds for stage in stages],
                "text": [f"{stage.seconds:.2f} s" for stage in stages],
                "textposition": "outside",
                "cliponaxis": False,
                "width": 0.5,
                "marker": {"color": [BAD if stage.times else INK for stage in stages]},
                "hovertemplate": "<b>%{y}</b> %{x:.2f} s<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "markers",
                "y": words,
                "x": [stage.usual for stage in stages],
                "marker": {"symbol": "line-ns-open", "size": 20, "color": QUIET, "line": {"width": 3}},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [
                        _over(stage.usual, high) for stage, (_low, high) in zip(stages, ranges, strict=True)
                    ],
                    "arrayminus": [
                        _over(low, stage.usual) for stage, (low, _high) in zip(stages, ranges, strict=True)
                    ],
                    "color": QUIET,
                    "thickness": 1,
                    "width": 0,
                },
                "hovertemplate": "<b>%{y}</b> "
                + _("usually %(x)s s") % {"x": "%{x:.2f}"}
                + "<extra></extra>",
            },
        ],
        {
            "xaxis": {"title": {"text": _("seconds")}, "rangemode": "tozero"},
            "yaxis": {"type": "category", "autorange": "reversed"},
            "margin": {"l": 110, "r": 70, "t": 8, "b": 40},
        },
        says=" ".join(
            [
                verdict(stages),
                ngettext(
                    "The mark is what half of %(n)s earlier switch took, the line from the least to the most.",
                    "The mark is what half of %(n)s earlier switches took, the line from the least to the most.",
                    many,
                )
                % {"n": many}
                if many >= LEAST
                else "",
            ]
        ).strip(),
        empty=_("No stage has ended."),
        height=height_of(len(stages)),
    )


def _range(seconds: Sequence[float]) -> tuple[float | None, float | None]:
    return (min(seconds), max(seconds)) if len(seconds) >= LEAST else (None, None)


def _over(low: float | None, high: float | None) -> float:
    return high - low if low is not None and high is not None else 0.0


def times_of(
    own: Sequence[tuple[str, float]], earlier: Mapping[str, Sequence[float]], words: Mapping[str, str]
) -> list[StageTime]:
    """Return each stage once with the sum of its attempts, in the order of the first attempts.

    :param own: (stage, seconds) of each attempt.
    :param earlier: stage → seconds in earlier switches.
    :param words: stage → its name for people.
    """
    seconds: dict[str, float] = {}
    for stage, took in own:
        seconds[stage] = seconds.get(stage, 0.0) + took
    return [StageTime(words[stage], took, earlier.get(stage, ())) for stage, took in seconds.items()]
