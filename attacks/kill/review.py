"""Kills of the review server: no decision that it has confirmed is lost."""

import json
import random
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from attacks import seeds
from attacks.children import in_child_or_fail
from attacks.kill.scenario import answer
from attacks.server.client import Client, ReviewServer, decision

KILLS = 40
DECISIONS = 25
_OPERATIONS = (4, 160)  # of a server that records this many decisions; SQLite's statements count


def prepare(root: Path) -> None:
    """Write a run with some dozen suspects."""
    root.mkdir(parents=True)
    in_child_or_fail(lambda: seeds.write_review_run(root), "review: build")


@dataclass(frozen=True)
class ReviewKill:
    """One kill of a server that is recording decisions: after some operation on its files, or at a random time."""

    root: Path
    number: int
    seed: int

    def __call__(self) -> list[str]:
        """Decide until the server dies, then open the run again."""
        rng = random.Random(f"{self.seed}/review/{self.number}")
        aimed = self.number % 4 != 3
        kill_after = rng.randint(*_OPERATIONS) if aimed else None
        with tempfile.TemporaryDirectory(prefix="kill-") as parent:
            run = Path(parent) / "run"
            shutil.copytree(self.root / "run", run)
            server = ReviewServer(run, Path(parent) / "log", kill_after)
            timer = Timer(rng.uniform(0.0, 0.6), server.kill)
            if not aimed:
                timer.start()
            confirmed = _decide(server) if server.started else {}
            timer.cancel()
            server.kill()
            broken = answer(lambda: _lost(run, confirmed))
        when = f"after operation {kill_after}" if aimed else "at a random time"
        return [f"killed {when}, {len(confirmed)} decisions confirmed: {sentence}" for sentence in broken]


def _decide(server: ReviewServer) -> dict[int, str]:
    """Record decisions until the server does not answer any more; return those that it confirmed."""
    confirmed: dict[int, str] = {}
    try:
        client = Client(server.port, server.link)
        for n in range(DECISIONS):
            record = decision(n, n)
            status, content = client.post("/api/decisions", record)
            if status != 200 or content is None:
                break
            confirmed[n] = record["decisions"][0]["state"]
    except OSError:
        pass
    return confirmed


def _lost(run: Path, confirmed: dict[int, str]) -> Iterable[str]:
    """Which confirmed decisions are not there; at most one that was never confirmed may be there as well."""
    from eigenclean.review import Review

    review = Review.open(run)
    try:
        stored = {review.suspects.position[entry.id]: entry.state for entry in review.store.current()}
        lost = {item: state for item, state in confirmed.items() if stored.get(item) != state}
        if lost:
            yield f"{len(lost)} confirmed decisions are lost: {json.dumps(lost)}"
        if len(stored) > len(confirmed) + 1:
            yield f"{len(stored)} decisions are there"
        if stored:
            review.patch()
    finally:
        review.close()
