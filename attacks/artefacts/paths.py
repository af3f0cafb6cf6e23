"""Artefacts that name paths: patches, records of moves, lists, tables, links and half-published runs."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from attacks import seeds
from attacks.artefacts.code import Attack
from attacks.commands import Action

# Paths that lead out of ``work/images`` to ``outside/``, in many spellings.
ESCAPES = (
    "../../outside/{name}",
    "cat/../../../outside/{name}",
    "./../../outside/{name}",
    "cat/./../../../outside/{name}",
    "{root}/outside/{name}",
    "//{root}/outside/{name}",
    "file://{root}/outside/{name}",
    "cat//..//..//..//outside//{name}",
    "..\\..\\outside\\{name}",
    "~/{name}",
    "link/{name}",
    "cat/link/{name}",
)
LABELS = (
    "../../outside/dog",
    "..",
    ".",
    "",
    "/tmp",
    "{root}/outside/dog",
    "a/b",
    "link",
    "dog/../../../outside",
    "~",
    "A:1",
)


def patches() -> Iterator[Attack]:
    """Patches of image folders whose ids or labels lead out."""
    for number, escape in enumerate(ESCAPES):
        for verb in ("apply", "revert"):
            for name in ("victim.png", "dog/victim.png"):

                def by_id(work: Path, escape: str = escape, verb: str = verb, name: str = name) -> list[Action]:
                    _link(work / "images")
                    id = escape.format(root=work.parent, name=name)
                    _write_moves(work, {id: "cat/stolen.png", "cat/1.jpeg": id})
                    _write_patch(work, [id, "cat/1.jpeg"], ["dog", "cat"], ["cat", "dog"])
                    return _patch(work, verb)

                yield f"id {number} {verb} {name}", "images", by_id
    for number, label in enumerate(LABELS):
        for verb in ("apply", "revert"):

            def by_label(work: Path, label: str = label, verb: str = verb) -> list[Action]:
                _link(work / "images")
                new = label.format(root=work.parent)
                _write_moves(work, {"cat/1.jpeg": f"{new}/1.jpeg", f"{new}/victim.png": "cat/1.jpeg"})
                _write_patch(work, ["cat/1.jpeg"], ["cat"], [new or " "])
                return _patch(work, verb)

            yield f"label {number} {verb}", "images", by_label


def moves() -> Iterator[Attack]:
    """Records of moved images whose keys or values lead out."""
    for number, escape in enumerate(ESCAPES):
        for side in ("key", "value", "both"):

            def spoil(work: Path, escape: str = escape, side: str = side) -> list[Action]:
                path = work / "images" / ".eigenclean-moved.json"
                record = json.loads(path.read_text(encoding="utf-8"))
                _link(work / "images")
                out = escape.format(root=work.parent, name="authorized_keys")
                changed = {
                    (f"{out}{i}" if side != "value" else key): (f"{out}-{i}" if side != "key" else value)
                    for i, (key, value) in enumerate(record.items())
                }
                path.write_text(json.dumps(changed), encoding="utf-8")
                patch = (work / "moves.jsonl").read_text(encoding="utf-8").splitlines()
                rows = [{**json.loads(line), "id": key} for line, key in zip(patch, changed, strict=False)]
                (work / "moves.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
                return [
                    ["patch", verb, str(work / "images"), str(work / "moves.jsonl"), "--in-place", *by_id]
                    for verb, by_id in (("revert", ()), ("revert", ("--by-id",)), ("apply", ("--by-id",)))
                ]

            yield f"{side} {number}", "image-patch", spoil


def lists() -> Iterator[Attack]:
    """Tables, lists and states that name files outside."""
    for number, escape in enumerate(ESCAPES):

        def in_table(work: Path, escape: str = escape) -> list[Action]:
            _link(work)
            path = escape.replace("../../", "../").format(root=work.parent, name="victim.png")
            text = (work / "data.csv").read_text(encoding="utf-8").replace("pictures/3.png", path)
            (work / "data.csv").write_text(text, encoding="utf-8")
            source = seeds.embedding(work, work / "data.csv")
            return [["embed", *source, "--image-column", "image", "--out", str(work / "out.npz")]]

        yield f"image column {number}", "image-column", in_table

        def in_state(work: Path, escape: str = escape) -> list[Action]:
            _link(work / "hf")
            name = escape.format(root=work.parent, name="data.arrow")
            state = {"_data_files": [{"filename": name}], "_fingerprint": "1", "_split": "train"}
            (work / "hf" / "state.json").write_text(json.dumps(state), encoding="utf-8")
            return [
                ["detect", str(work / "hf"), "--out", str(work / "out")],
                ["noise", str(work / "hf"), "--out", str(work / "out.npz")],
            ]

        yield f"Hugging Face state {number}", "hugging-face", in_state
        for layout, file, prefix in (
            ("mini-webvision:{work}/webvision", "webvision/info/train_filelist_google.txt", "google/"),
            ("clothing1m:{work}/clothing", "clothing/noisy_train_key_list.txt", "images/"),
        ):

            def in_list(
                work: Path, escape: str = escape, layout: str = layout, file: str = file, prefix: str = prefix
            ) -> list[Action]:
                _link((work / file).parents[0])
                name = escape.format(root=work.parent, name="victim.png")
                for path in work.rglob("*.txt"):
                    path.write_text(
                        path.read_text(encoding="utf-8").replace(f"{prefix}3.jpg", name), encoding="utf-8"
                    )
                source = seeds.embedding(work, layout.format(work=work))
                return [["embed", *source, "--out", str(work / "out.npz")]]

            yield f"{file} {number}", "image-lists", in_list


def links() -> Iterator[Attack]:
    """Links inside data folders that lead out of them."""
    for target in ("victim.png", "dog/victim.png"):

        def image(work: Path, target: str = target) -> list[Action]:
            (work / "images" / "cat" / "linked.png").symlink_to(work.parent / "outside" / target)
            return [
                ["embed", *seeds.embedding(work, work / "images"), "--out", str(work / "out.npz")],
                [
                    "patch",
                    "apply",
                    str(work / "images"),
                    _one_move(work, "cat/linked.png"),
                    "--in-place",
                    "--by-id",
                ],
            ]

        yield f"image {target}", "images", image

    def class_folder(work: Path) -> list[Action]:
        (work / "images" / "bird").symlink_to(work.parent / "outside" / "dog")
        return [
            ["embed", *seeds.embedding(work, work / "images"), "--out", str(work / "out.npz")],
            [
                "patch",
                "apply",
                str(work / "images"),
                _one_move(work, "cat/1.jpeg", "bird"),
                "--in-place",
                "--by-id",
            ],
        ]

    yield "class folder", "images", class_folder

    def replaced_class(work: Path) -> list[Action]:
        patch = _one_move(work, "cat/1.jpeg", "dog")
        shutil.rmtree(work / "images" / "dog")
        (work / "images" / "dog").symlink_to(work.parent / "outside" / "dog")
        return [["patch", "apply", str(work / "images"), patch, "--in-place", "--by-id"]]

    yield "class folder of a patch", "images", replaced_class

    def record_of_moves(work: Path) -> list[Action]:
        (work / "images" / ".eigenclean-moved.json").symlink_to(work.parent / "outside" / "secret.txt")
        return [["patch", "apply", str(work / "images"), _one_move(work, "cat/1.jpeg"), "--in-place", "--by-id"]]

    yield "record of moves", "images", record_of_moves
    for name in ("verdict.parquet", "summary.json", "report.html", "manifest.json"):

        def result(work: Path, name: str = name) -> list[Action]:
            (work / "run" / name).unlink(missing_ok=True)
            (work / "run" / name).symlink_to(work.parent / "outside" / "secret.txt")
            return [["detect", str(work / "data.npz"), "--out", str(work / "run")]]

        yield f"result {name}", "run", result
    for name in ("review.sqlite", "review.npz", "review.sqlite-wal", "review.sqlite-journal"):

        def decisions(work: Path, name: str = name) -> list[Action]:
            (work / "run" / name).unlink(missing_ok=True)
            (work / "run" / name).symlink_to(work.parent / "outside" / "new-file")
            return [
                ["review", str(work / "run"), "--export", str(work / "out.html")],
                ["review", str(work / "run"), "--patch", str(work / "out.jsonl")],
            ]

        yield f"decisions {name}", "run", decisions

    def undo_log(work: Path) -> list[Action]:
        log = work / "data.csv.undo.json"
        log.symlink_to(work.parent / "outside" / "secret.txt")
        return [["patch", "apply", str(work / "data.csv"), str(work / "csv.jsonl"), "--in-place"]]

    yield "undo log", "patch", undo_log

    def cache(work: Path) -> list[Action]:
        for path in (work / "cache").rglob("*.*"):
            shutil.copyfile(path, work.parent / "outside" / path.name)
            path.unlink()
            path.symlink_to(work.parent / "outside" / path.name)
        return [["embed", *seeds.embedding(work, work / "images"), "--out", str(work / "out.npz")]]

    yield "feature cache", "feature-cache", cache


def publications() -> Iterator[Attack]:
    """Folders with a set that seems to be half published, and would be moved somewhere else."""
    names = (
        "../../outside/secret.txt",
        "/etc/x",
        "..",
        ".",
        "a/../../../outside/x",
        "review.sqlite",
        ".hidden",
        "x\0y",
    )
    for number, name in enumerate(names):
        for field in ("files", "removed"):

            def spoil(work: Path, name: str = name, field: str = field) -> list[Action]:
                staging = work / "run" / ".eigenclean-publication" / "0123456789abcdef"
                (staging / ".old").mkdir(parents=True)
                (staging / "summary.json").write_bytes((work / "run" / "summary.json").read_bytes())
                files = {name: {"size": 1, "blake2b": "00"}} if field == "files" else {}
                removed = [name] if field == "removed" else []
                record = {"eigenclean": 1, "id": staging.name, "files": files, "removed": removed}
                (staging / "manifest.json").write_text(json.dumps(record), encoding="utf-8")
                return _read_run(work)

            yield f"{field} {number}", "run", spoil

    def linked(work: Path) -> list[Action]:
        (work / "run" / ".eigenclean-publication").symlink_to(work.parent / "outside")
        return _read_run(work)

    yield "link", "run", linked

    def linked_inside(work: Path) -> list[Action]:
        pending = work / "run" / ".eigenclean-publication"
        pending.mkdir()
        (pending / "0123456789abcdef").symlink_to(work.parent / "outside")
        return _read_run(work)

    yield "link inside", "run", linked_inside


def databases() -> Iterator[Attack]:
    """Files of decisions with a schema of their own."""
    statements = {
        "trigger": "CREATE TRIGGER t AFTER INSERT ON history BEGIN DELETE FROM history; END",
        "writable": "CREATE TRIGGER t AFTER INSERT ON history BEGIN UPDATE history SET label = 'x'; END",
        "view": "CREATE VIEW extra AS SELECT load_extension('evil')",
        "index": "CREATE INDEX odd ON history (abs(seq))",
    }
    for name, statement in statements.items():

        def spoil(work: Path, statement: str = statement) -> list[Action]:
            database = sqlite3.connect(work / "run" / "review.sqlite")
            database.execute(statement)
            database.commit()
            database.close()
            return _read_run(work)

        yield name, "run", spoil


def _read_run(work: Path) -> list[Action]:
    run, out = str(work / "run"), str(work / "out")
    return [
        ["check", run],
        ["review", run, "--export", f"{out}.html"],
        ["review", run, "--patch", f"{out}.jsonl"],
        ["export", run, "--to", "csv", "--out", f"{out}.csv"],
        ["detect", str(work / "data.npz"), "--out", run],
    ]


def _link(folder: Path) -> None:
    """``link`` and ``cat/link`` in the folder lead to ``outside``."""
    outside = next(parent / "outside" for parent in folder.parents if (parent / "outside").is_dir())
    for place in (folder, folder / "cat"):
        if place.is_dir() and not os.path.lexists(place / "link"):
            (place / "link").symlink_to(outside)


def _patch(work: Path, verb: str) -> list[Action]:
    images, patch = str(work / "images"), str(work / "patch.jsonl")
    return [
        ["patch", verb, images, patch, "--in-place", "--by-id"],
        ["patch", verb, images, patch, "--out", str(work / "out.csv"), "--by-id"],
    ]


def _write_moves(work: Path, moves: dict[str, str]) -> None:
    (work / "images" / ".eigenclean-moved.json").write_text(json.dumps(moves), encoding="utf-8")


def _write_patch(work: Path, ids: list[str], old: list[str], new: list[str]) -> None:
    (work / "patch.jsonl").write_text(seeds.decisions(ids, old, new, "00"), encoding="utf-8")


def _one_move(work: Path, id: str, new: str = "dog") -> str:
    _write_patch(work, [id], ["cat"], [new])
    return str(work / "patch.jsonl")
