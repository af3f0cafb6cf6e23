"""An audit as HTML for the output of a notebook: headline, classes and the worst suspects, in one piece."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eigenclean.errors import EigencleanError
from eigenclean.report import plain, render_page, summarize
from eigenclean.sources import Source
from eigenclean.verdict import Verdict
from eigenclean.workflows.audit.suspect_table import suspect_table

N_CLASSES, N_SUSPECTS, N_COLUMNS = 5, 8, 6
_OWN = ("row", "id", "given_label", "suggested_label", "label_score", "is_label_issue", "text")
# A report may be somebody else's: a picture in it must not make the notebook load anything.
_PICTURE = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=]*")


def audit_html(
    verdict: Verdict,
    summary: Mapping[str, Any],
    report: Mapping[str, Any] | None,
    source: Source | None,
    notes: Sequence[str] = (),
) -> str:
    """The page's fragment; everything that comes from the data is escaped.

    Args:
        verdict: the verdict.
        summary: that of the run.
        report: data of the report, from which thumbnails are taken; None if there are none.
        source: the data, for texts and values of rows.
        notes: what was said during the run.
    """
    report_data = _report_data(verdict, report, summary)
    cautions = summary.get("cautions")
    values = {
        "headline": report_data["headline"],
        "cautions": [plain(c, 1000) for c in cautions] if isinstance(cautions, list) else [],
        "classes": report_data["classes"]["rows"][:N_CLASSES],
        "n_classes": report_data["headline"]["n_classes"],
        "suspects": _suspects(verdict, source, report_data),
        "columns": [],
        "notes": [plain(note, 500) for note in notes],
    }
    if values["suspects"]:
        values["columns"] = [name for name, _ in values["suspects"][0]["values"]]
    return render_page("audit.html", values, package="eigenclean.workflows", styles=["audit.css"])


def _report_data(
    verdict: Verdict, report: Mapping[str, Any] | None, summary: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Headline, classes and cards of the report, computed anew where there is none."""
    fresh = summarize(verdict, run={key: summary.get(key) for key in ("self_test", "decisions")})
    if report is None:
        return fresh
    try:
        cards = [{"id": str(card["id"]), "image": _picture(card["image"])} for card in report["suspects"]["cards"]]
    except (KeyError, TypeError):  # of another version, or somebody else's
        return fresh
    return {**fresh, "suspects": {"cards": cards}}


def _picture(image: Any) -> dict[str, Any] | None:
    source = image.get("src") if isinstance(image, dict) else None
    is_ours = isinstance(source, str) and _PICTURE.fullmatch(source)
    return {"src": source, "coarse": bool(image.get("coarse"))} if is_ours else None


def _suspects(verdict: Verdict, source: Source | None, report_data: Mapping[str, Any]) -> list[dict[str, Any]]:
    n = min(N_SUSPECTS, verdict.n_flagged) or N_SUSPECTS
    try:
        records = suspect_table(verdict, source, n)
    except (EigencleanError, OSError):  # the file has changed or gone since
        records = suspect_table(verdict, None, n)
    pictures = {card["id"]: card["image"] for card in report_data["suspects"]["cards"]}
    hidden = {*_OWN, *_text_columns(records)}
    return [
        {
            "id": plain(record["id"], 60),
            "given": plain(record["given_label"], 60),
            "suggested": None if record["suggested_label"] is None else plain(record["suggested_label"], 60),
            "p_right": record["label_score"],
            "image": pictures.get(plain(record["id"])),
            "text": plain(record["text"], 280) if "text" in record else None,
            "values": [(plain(k, 40), _value(v)) for k, v in record.items() if k not in hidden][:N_COLUMNS],
        }
        for record in records
    ]


def _text_columns(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """Columns of a table from which the texts come: they are shown already."""
    names = {name for record in records for name in record if "text" in record}
    return {name for name in names if all(record.get(name) == record["text"] for record in records)}


def _value(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else plain(value, 40)
