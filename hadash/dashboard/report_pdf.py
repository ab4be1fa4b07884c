"""A report as a PDF to be saved: for the pages of reports, and for the record of a switch."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from django.http import HttpResponse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from hadash.reports.pdf import pdf_of
from hadash.reports.report import Report


def pdf_response(report: Report, language: str, zone: str, name: str) -> HttpResponse:
    """Return a report as PDF.

    :param language: Django's code of the report's language (``zh-hans``).
    :param zone: the name of the time zone of its times.
    :param name: the name of the file, without its ending.
    """
    with translation.override(language), timezone.override(ZoneInfo(zone)):
        data = pdf_of(report, language, _printed(), _as_of(report))
    return download(data, "application/pdf", f"{name}.pdf")


def _printed() -> str:
    now = timezone.localtime()
    return _("hadash, printed at %(at)s") % {"at": f"{now:%Y-%m-%d %H:%M %Z}"}


def _as_of(report: Report) -> str:
    if report.as_of is None:
        return ""
    return _("As of %(at)s") % {"at": f"{timezone.localtime(report.as_of):%Y-%m-%d %H:%M %Z}"}


def download(data: bytes, media_type: str, name: str) -> HttpResponse:
    """Return a file as a download."""
    answer = HttpResponse(data, content_type=media_type)
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
