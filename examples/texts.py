"""Find wrong labels among texts, from a CSV file to a report.

    python examples/texts.py [FILE.csv --text-column text --label-column label] [--out run-texts] [--encoder NAME]

Without a file, the texts are sentences from the documentation of Python's own libraries, each labelled with its
subject, one in ten wrongly.
"""

import argparse
import csv
import importlib
import inspect
import sys
from pathlib import Path

import numpy as np

from eigenclean import add_noise, detector, open_source
from eigenclean.features import best_encoder, embed_source, make_encoder
from eigenclean.report import publish, results_folder

LIBRARIES = {
    "statistics": ("scipy.stats", "scipy.stats.distributions", "statistics"),
    "linear algebra": ("numpy.linalg", "scipy.linalg", "scipy.sparse.linalg"),
    "files": ("os", "os.path", "shutil", "pathlib", "zipfile", "tempfile"),
    "network": ("socket", "ssl", "http.client", "urllib.request", "email.message", "smtplib"),
}


def sentences() -> tuple[list[str], list[str]]:
    """First sentences of docstrings, and the subject of the library that each is from."""
    texts: dict[str, str] = {}
    for subject, names in LIBRARIES.items():
        for module in map(importlib.import_module, names):
            for owner in [module, *(kind for _, kind in inspect.getmembers(module, inspect.isclass))]:
                for name, thing in inspect.getmembers(owner):
                    first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
                    if not name.startswith("_") and callable(thing) and 40 <= len(first) <= 300:
                        texts.setdefault(first, subject)
    return list(texts), list(texts.values())


def write_sentences(path: Path) -> list[str]:
    """Write them as a CSV file with some wrong labels; return the right ones."""
    texts, right = sentences()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(texts, add_noise(np.array(right), "symmetric", rate=0.1).tolist(), strict=True))
    return right


def main() -> None:
    """Embed, judge, report."""
    parser = argparse.ArgumentParser(description="Find wrong labels among texts.")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--label-column", default="label")
    parser.add_argument("--out", type=Path, default=Path("run-texts"))
    parser.add_argument("--encoder", default=None)
    options = parser.parse_args()

    truth: list[str] = []
    if options.file is None:
        options.file = options.out / "sentences.csv"
        truth = write_sentences(options.file)

    source = open_source(options.file, text_column=options.text_column, label_column=options.label_column, raw=True)
    name = options.encoder or best_encoder("text")[0]
    data = embed_source(source, make_encoder(name))  # empty texts are left out
    verdict = detector().judge(data.features(), data.labels, ids=data.ids)
    with results_folder(options.out) as folder:
        publish(folder, verdict, data, command=" ".join(sys.argv), facts={"embedding": data.facts()})

    sys.stdout.write(f"{verdict}\n")
    assert data.texts is not None
    for row in verdict.suspects(5).tolist():
        excerpt = data.texts[row][:70]
        sys.stdout.write(f"{verdict.labels[row]}, but looks like {verdict.suggested[row]}: {excerpt}\n")
    if truth:
        wrong = np.array(truth)[data.ids] != data.labels
        n_found = int((verdict.flagged & wrong).sum())
        sys.stdout.write(f"{n_found} of the {int(wrong.sum())} wrong labels are among the flagged\n")
    sys.stdout.write(f"open {options.out / 'report.html'}\n")


if __name__ == "__main__":
    main()
