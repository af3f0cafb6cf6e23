"""Records docs/img/walk.gif from the real program: `python docs/record.py [FILE.gif]`.

The commands are run, the review page is opened in a browser without a window and decided by keyboard, and what they
show becomes the frames. Only the typing is acted.
"""

import html
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright
from sklearn.datasets import load_digits

from eigenclean import add_noise

SIZE = ViewportSize(width=1360, height=834)
SCALE = 880 / 1360  # the review page needs room, the README has less
COLOURS = 256
MOST_BYTES = 1_500_000
N_DECISIONS = 8  # all of them accept the suggestion, if there is one
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
TERMINAL = """<!doctype html><meta charset="utf-8"><style>
html { background: #14191f; } body { margin: 0; padding: 26px 32px; font: 22px/1.5 "DejaVu Sans Mono", monospace;
color: #d7dde4; white-space: pre-wrap; } b { color: #6fd3b4; } i { background: #d7dde4; font-style: normal; }
</style>"""


class Film:
    """Frames and how long each is shown."""

    def __init__(self) -> None:
        self.frames: list[Image.Image] = []
        self.milliseconds: list[int] = []

    def shoot(self, page: Page, milliseconds: int) -> None:
        """Add what a page shows."""
        frame = Image.open(BytesIO(page.screenshot())).convert("RGB")
        size = (round(frame.width * SCALE), round(frame.height * SCALE))
        self.frames.append(frame.resize(size, Image.Resampling.LANCZOS))
        self.milliseconds.append(milliseconds)

    def save(self, path: Path) -> None:
        """Write an animation that repeats; one palette for all frames, so that unchanged pixels cost nothing."""
        sample = self.frames[:: max(1, len(self.frames) // 12)]
        sheet = Image.new("RGB", (sample[0].width, sample[0].height * len(sample)))
        for number, frame in enumerate(sample):
            sheet.paste(frame, (0, number * frame.height))
        palette = sheet.quantize(COLOURS, dither=Image.Dither.NONE)
        first, *others = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self.frames)
        first.save(path, save_all=True, append_images=others, duration=self.milliseconds, loop=0, optimize=True)


class Terminal:
    """A terminal in which commands are typed, and run."""

    def __init__(self, film: Film, page: Page, folder: Path) -> None:
        self.film, self.page, self.folder, self.text = film, page, folder, ""

    def type(self, command: str, milliseconds: int = 300) -> None:
        """Type a command, some letters at a time."""
        for stop in range(0, len(command) + 1, 6):
            self._show(f"{self.text}<b>$</b> {html.escape(command[:stop])}<i> </i>", 70)
        self.text += f"<b>$</b> {html.escape(command)}\n"
        self._show(self.text, milliseconds)

    def run(self, command: str, milliseconds: int) -> None:
        """Type a command, run it, and show what it prints."""
        self.type(command)
        done = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=self.folder,
            env=environment(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        self.text += f"{html.escape(done.stdout.strip())}\n"
        self._show(self.text, milliseconds)

    def clear(self) -> None:
        """Begin with an empty screen."""
        self.text = ""

    def _show(self, text: str, milliseconds: int) -> None:
        self.page.set_content(f"{TERMINAL}{text}")
        self.film.shoot(self.page, milliseconds)


def environment(folder: Path) -> dict[str, str]:
    """A terminal of this width, and no features of other runs."""
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "92", "EIGENCLEAN_CACHE": str(folder / ".features")}


def write_data(folder: Path) -> None:
    """Handwritten digits with their pictures, one label in ten wrong."""
    digits: Any = load_digits()
    images, labels = digits.images[:300], digits.target[:300]
    np.savez(
        folder / "digits.npz",
        features=images.reshape(len(images), -1).astype(np.float32),
        labels=add_noise(labels, "symmetric", rate=0.1),
        images=np.round(images * (255 / 16)).astype(np.uint8),
    )


@contextmanager
def review(folder: Path) -> Iterator[str]:
    """Serve the review page; gives its link."""
    served = subprocess.Popen(
        [sys.executable, "-m", "eigenclean", "review", "run", "--no-browser", "--port", "0"],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert served.stdout is not None
    try:
        yield next(line.split()[-1] for line in served.stdout if "http://" in line)
    finally:
        served.send_signal(signal.SIGINT)
        served.communicate(timeout=30)


def decide(film: Film, page: Page, link: str) -> None:
    """Decide about the first suspects by keyboard."""
    page.goto(link)
    expect(page.locator("#change")).to_be_visible(timeout=30_000)
    page.wait_for_load_state("networkidle")
    film.shoot(page, 1100)
    for number in range(1, N_DECISIONS + 1):
        page.keyboard.press("a" if page.locator("#change .proposed").count() else "k")
        expect(page.locator("#progress-text")).to_contain_text(f"{number} of ", timeout=30_000)
        page.wait_for_timeout(400)  # pictures of the next suspect
        film.shoot(page, 480)
    film.milliseconds[-1] = 900


def record(path: Path) -> None:
    """Run everything and write the animation."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    film = Film()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        write_data(folder)
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        terminal = Terminal(film, browser.new_page(viewport=SIZE), folder)
        terminal.run("eigenclean detect digits.npz --out run", 2400)
        terminal.type("eigenclean review run")
        with review(folder) as link:
            decide(film, browser.new_page(viewport=SIZE, color_scheme="light"), link)
        terminal.clear()
        terminal.run("eigenclean review run --patch patch.jsonl", 900)
        terminal.run("eigenclean patch apply digits.npz patch.jsonl --out fixed.npz", 2600)
        browser.close()
    film.save(path)
    seconds, size = sum(film.milliseconds) / 1000, path.stat().st_size
    sys.stdout.write(f"{path}: {len(film.frames)} frames, {seconds:.1f} s, {size / 1e6:.2f} MB\n")
    if size > MOST_BYTES:
        raise SystemExit(f"{path} is larger than {MOST_BYTES / 1e6} MB")


if __name__ == "__main__":
    record(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "img" / "walk.gif")
