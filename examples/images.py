"""Find wrong labels among images, from files to a report.

    python examples/images.py [FOLDER] [--out run-images] [--encoder NAME]

FOLDER has one folder of images per class. Without one, handwritten digits are written as small images, one in ten
into the wrong folder.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from eigenclean import add_noise, detector, open_source
from eigenclean.features import best_encoder, embed_source, make_encoder
from eigenclean.report import publish, results_folder


def write_digits(folder: Path, n: int = 200) -> dict[str, str]:
    """Write ``n`` digits as PNG files in class folders; return the right label of each file."""
    pixels, labels = map(np.asarray, load_digits(return_X_y=True))
    right = labels[:n].astype(str)
    for row, given in enumerate(add_noise(right, "symmetric", rate=0.1).tolist()):
        (folder / given).mkdir(parents=True, exist_ok=True)
        grey = np.round(pixels[row].reshape(8, 8) * (255 / 16)).astype(np.uint8)
        Image.fromarray(grey).save(folder / given / f"{row:04d}.png")
    return {path.relative_to(folder).as_posix(): right[int(path.stem)] for path in folder.rglob("*.png")}


def main() -> None:
    """Embed, judge, report."""
    parser = argparse.ArgumentParser(description="Find wrong labels among images.")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--out", type=Path, default=Path("run-images"))
    parser.add_argument("--encoder", default=None)
    options = parser.parse_args()

    truth: dict[str, str] = {}
    if options.folder is None:
        options.folder = options.out / "digits"
        truth = write_digits(options.folder)

    source = open_source(options.folder)  # labels are the names of the folders
    name = options.encoder or best_encoder("image")[0]
    data = embed_source(source, make_encoder(name))  # embeddings are cached by content
    for unreadable in data.skipped:
        sys.stdout.write(f"left out: {unreadable.reason}\n")

    verdict = detector().judge(data.features(), data.labels, ids=data.ids)
    with results_folder(options.out) as folder:
        publish(folder, verdict, data, command=" ".join(sys.argv), facts={"embedding": data.facts()})

    sys.stdout.write(f"{verdict}\n")
    for row in verdict.suspects(5).tolist():
        sys.stdout.write(f"{verdict.ids[row]} looks like {verdict.suggested[row]}\n")
    if truth:
        wrong = np.array([truth[file] != label for file, label in zip(data.ids, data.labels, strict=True)])
        n_found = int((verdict.flagged & wrong).sum())
        sys.stdout.write(f"{n_found} of the {int(wrong.sum())} wrong labels are among the flagged\n")
    sys.stdout.write(f"open {options.out / 'report.html'}\n")


if __name__ == "__main__":
    main()
