"""What `eigenclean detect` prints about several annotators."""

from collections.abc import Mapping
from typing import Any

from eigenclean.cli.console import console, say, table
from eigenclean.report.formatting import fixed_percent

MAX_SHOWN = 10


def print_annotators(facts: Mapping[str, Any]) -> None:
    """Agreement, the quality of the annotators worst first, and what to ask next."""
    alpha = facts["krippendorff_alpha"]
    agreement = "not defined" if alpha is None else f"{alpha:.3f}"
    say(
        f"\n{facts['n_annotators']} annotators gave {facts['n_labels']} labels; Krippendorff's alpha {agreement}; "
        f"the consensus differs from the majority in {facts['n_changed']} rows; "
        f"{facts['n_wrong_labels']} single labels look wrong"
    )
    output = table(None, "annotator", "labels", "right", "between", "look wrong", "often takes")
    for row in facts["annotators"][:MAX_SHOWN]:
        between = f"{100 * row['quality_low']:.1f} to {fixed_percent(row['quality_high'])}"
        confusion = next((f"{pair['right']} for {pair['given']}" for pair in row["confusions"]), "")
        quality = fixed_percent(row["quality"])
        name = str(row["annotator"])[:60]
        output.add_row(name, str(row["n_labels"]), quality, between, str(row["n_wrong"]), confusion[:60])
    console.print(output, markup=False)
    hidden = facts["n_annotators"] - min(len(facts["annotators"]), MAX_SHOWN)
    if hidden > 0:
        say(f"… and {hidden} better annotator{'s' * (hidden > 1)} in annotators.parquet")
    if "ask" in facts:
        first = facts["ask"]["first"][:3]
        examples = "; ".join(f"{row['id']} by {row['annotator'] or 'somebody new'}" for row in first)
        say(f"Ask next, {facts['ask']['n']} rows in ask.csv: {examples}")
