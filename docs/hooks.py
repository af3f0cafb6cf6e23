"""MkDocs hooks: the pages that are written by the code itself, so that they cannot fall behind it."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.cli import get_docs_for_click

import eigenclean
from eigenclean.cli.app import app
from eigenclean.cli.plugins import LAB, loaded_plugins
from eigenclean.detect import DEFAULT, DETECTORS, Detector
from eigenclean.detect.cuts import CUTS, Cut
from eigenclean.features import ENCODERS
from eigenclean.interface import EXTENSION_MODULES, STABLE_MODULES, public_names
from eigenclean.noise import NOISES, Noise
from eigenclean_lab.bench.quality import plot as quality_plot
from eigenclean_lab.bench.quality.page import quality_page
from eigenclean_lab.bench.scale import page as scale_page
from eigenclean_lab.bench.training import plot as training_plot
from eigenclean_lab.bench.training.page import train_page

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = ROOT / "docs" / "decisions"
PYTHON = "reference/python"  # folder of the pages about public names
CLI = "reference/cli"  # folder of the pages about commands
TRAINED_ENCODER = "eigenclean.train.encoder.trained_features"
ATTACK = "<!-- attack -->"
LAB_MODULES = ("eigenclean_lab.theory", "eigenclean_lab.analyses")  # documented because pages of the site use them


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the records in docs/decisions/ and the public modules into the navigation."""
    pages = sorted(path for path in DECISIONS.glob("*.md") if path.name != "index.md")
    entries = ["decisions/index.md", *(f"decisions/{path.name}" for path in pages)]
    modules = [name for names in python_modules().values() for name in names]
    python = [f"{PYTHON}/index.md", *({name: f"{PYTHON}/{name}.md"} for name in ["eigenclean", *modules])]
    command_line = [f"{CLI}/index.md", *({name: f"{CLI}/{name}.md"} for name in _commands().commands)]
    filled: dict[str, list[Any]] = {"Decisions": entries, "Python": python, "Command line": command_line}
    config.nav = _filled(config.nav or [], filled)
    config.watch.extend(str(ROOT / name) for name in ("src", "CHANGELOG.md") if (ROOT / name).exists())
    return config


def _filled(nav: list[Any], lists: Mapping[str, list[Any]]) -> list[Any]:
    """The navigation with the empty lists of these names replaced, at any depth."""
    entries: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict) and len(entry) == 1:
            ((name, value),) = entry.items()
            inner = _filled(value, lists) if isinstance(value, list) else value
            entries.append({name: lists[name] if value == [] and name in lists else inner})
        else:
            entries.append(entry)
    return entries


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and figures."""
    pages = {
        "reference/detectors.md": table_page("Detectors", _DETECTORS, "--method", DETECTORS, Detector),
        "reference/cuts.md": table_page("Cuts", _CUTS, "--set cut=", CUTS, Cut),
        "reference/encoders.md": encoders_page(ROOT / "results" / "bench_embed.json"),
        "reference/noises.md": table_page("Noises", _NOISES, "--kind", NOISES, Noise),
        "explanation/quality.md": quality_page(ROOT / "results" / "bench_quality.json"),
        "explanation/training.md": train_page(ROOT / "results"),
        "img/bench_quality.svg": quality_plot.page_figure(ROOT / "results" / "bench_quality.json"),
        "img/bench_train.svg": training_plot.page_figure(ROOT / "results"),
        "changelog.md": changelog_page(),
    }
    pages |= {**cli_pages(), **python_pages()}
    notebooks = _script("notebooks")
    pages |= {f"tutorials/{name}.md": notebooks.notebook_page(name) for name in notebooks.names()}
    if not (DECISIONS / "index.md").exists():
        pages["decisions/index.md"] = decisions_page()
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def _script(name: str) -> Any:
    """A script beside this one, which MkDocs does not load as part of a package."""
    spec = spec_from_file_location(f"docs_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in what was measured, keep "%" beside its number in tables, and hide what only the tests read."""
    markdown = markdown.replace(scale_page.MARK, scale_page.measured(ROOT / "results" / "bench_scale.json"))
    markdown = markdown.replace(ATTACK, attack_table(ROOT / "results" / "attack.json"))
    rows = re.compile(r"^\|.*\|$", flags=re.MULTILINE)
    markdown = rows.sub(lambda row: row[0].replace(" %", "\N{NO-BREAK SPACE}%"), markdown)
    return re.sub(r"^( *```(?:console|text)) (?:exit=\d+|approx)$", r"\1", markdown, flags=re.MULTILINE)


def attack_table(path: Path) -> str:
    """Cases tried by `make attack` and promises broken, as Markdown."""
    if not path.exists():
        return "No run is recorded."
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = [f"| {row['kind']} | {row['tried']} | {row['violations']} |" for row in record["kinds"]]
    total = f"| **all** | **{record['tried']}** | **{record['violations']}** |"
    return "\n".join(["| kind | cases tried | violations |", "|---|---:|---:|", *rows, total])


# The command line.

_CLI = (
    "Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 something unexpected "
    "(or, for `check` and `bench`, a limit or target that is not met), 2 your input or options, 130 stopped with "
    "Ctrl-C. An error is one line; `--debug`, anywhere in the command, shows the traceback. These pages are "
    "generated from the program."
)


def cli_pages() -> dict[str, str]:
    """An index and a page for each command: help, arguments and options, as typer's generator describes them."""
    command = _commands()
    generated = get_docs_for_click(obj=command, ctx=typer.Context(command), name="eigenclean", title="Command line")
    index, *sections = re.split(r"^(?=## )", generated, flags=re.MULTILINE)
    title, _, options = index.partition("\n")
    listed = re.sub(r"^\* `(\w+)`: ", r"* [`\1`](\1.md): ", options, flags=re.MULTILINE)
    pages = {f"{CLI}/index.md": f"{title}\n\n{_CLI}\n{listed}"}
    for name, section in zip(command.commands, sections, strict=True):
        pages[f"{CLI}/{name}.md"] = re.sub(r"^#(#+ )", r"\1", section, flags=re.MULTILINE)
    return pages


def _commands() -> Any:
    """The program; commands of other packages are placeholders in it until they are called, and are loaded here."""
    command: Any = typer.main.get_command(app)
    for name, loaded in loaded_plugins(LAB):
        loaded.name, loaded.short_help = name, command.commands[name].short_help or command.commands[name].help
        command.commands[name] = loaded
    return command


def commands() -> Iterator[tuple[str, Any]]:
    """The program and all its commands, by what one types."""

    lab = dict(loaded_plugins(LAB))  # in the program itself they are placeholders until they are called

    def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for child, inner in getattr(command, "commands", {}).items():
            yield from walk(f"{name} {child}", lab.get(child, inner) if name == "eigenclean" else inner)

    return walk("eigenclean", typer.main.get_command(app))


# Python.


def python_pages() -> dict[str, str]:
    """An index, a page of what `import eigenclean` gives, and one for each public module, by path."""
    documented = _on_other_pages()
    index = [
        "# Python",
        "",
        "What `import eigenclean` gives, and its public modules. Nothing else is public; "
        "[What is stable](../stability.md) says what is promised.",
        "",
        "| Name | What it is |",
        "|---|---|",
    ]
    for name in eigenclean.__all__:
        summary = _summary(getattr(eigenclean, name)) if callable(getattr(eigenclean, name)) else "the version"
        index.append(f"| [`eigenclean.{name}`](eigenclean.md) | {_cell(summary)} |")
    texts = {"eigenclean": _package_page(documented)}
    for group, module_names in python_modules().items():
        index += ["", f"## {group}", "", "| Module | What it is |", "|---|---|"]
        for module_name in module_names:
            texts[module_name] = _module_page(module_name, documented)
            index.append(f"| [`{module_name}`]({module_name}.md) | {_cell(_summary(import_module(module_name)))} |")
    texts["index"] = "\n".join(index) + "\n"
    return {f"{PYTHON}/{name}.md": text for name, text in texts.items()}


def python_modules() -> dict[str, list[str]]:
    """The public modules beside the package itself, by how stable they are."""
    groups = {"Stable": STABLE_MODULES, "For extensions": EXTENSION_MODULES, "Laboratory": LAB_MODULES}
    return {group: [name for name in names if name != "eigenclean"] for group, names in groups.items()}


def _package_page(documented: dict[str, str]) -> str:
    """The public names of the package; ``documented`` says which are described elsewhere, and is added to."""
    lines = ["# eigenclean", "", "What `import eigenclean` gives."]
    for name in eigenclean.__all__:
        path = _home(eigenclean, name)
        if path in documented:
            lines += ["", f"## eigenclean.{name}", "", f"See {documented[path]}."]
        else:
            lines += _directive(path, heading=f"eigenclean.{name}", toc_label=name)
            documented[path] = f"[`eigenclean.{name}`](eigenclean.md)"
    return "\n".join(lines) + "\n"


def _on_other_pages() -> dict[str, str]:
    """The paths of what the pages of tables describe, with a link to it."""
    pages: tuple[tuple[str, str, Mapping[str, type[Any]], type[Any]], ...] = (
        ("Detectors", "../detectors.md", DETECTORS, Detector),
        ("Cuts", "../cuts.md", CUTS, Cut),
        ("Noises", "../noises.md", NOISES, Noise),
    )
    documented: dict[str, str] = {}
    for title, page, table, base in pages:
        documented |= {_path(kind): f"[{title}]({page}#{_anchor(name)})" for name, kind in table.items()}
        documented |= {_path(parent): f"[{title}]({page})" for parent in _shared_bases(table, base)}
    for name, entry in ENCODERS.items():
        documented[f"{entry.module}.{entry.class_name}"] = f"[Encoders](../encoders.md#{_anchor(name)})"
    documented[TRAINED_ENCODER] = "[Encoders](../encoders.md#trained)"
    return documented


def _module_page(module_name: str, documented: dict[str, str]) -> str:
    """The names of one module; ``documented`` says which are described elsewhere, and is added to."""
    module = import_module(module_name)
    lines = [f"# {module_name}", "", (inspect.getdoc(module) or "").partition("\n\n")[0]]
    for name in public_names(module_name):
        path = _home(module, name)
        if path in documented:
            lines += ["", f"`{name}`: see {documented[path]}."]
        elif callable(getattr(module, name)) and path.startswith("eigenclean"):
            lines += _directive(path, heading=name)
            documented[path] = f"[`{module_name}.{name}`]({module_name}.md)"
    return "\n".join(lines) + "\n"


def _home(module: ModuleType, name: str) -> str:
    """Where a public name is defined; found by looking, because a function may have the name of a module."""
    try:
        value = getattr(module, name)
    except ImportError:  # an extra is not installed; griffe reads the source and need not import it
        return f"{module.__name__}.{name}"
    return _path(value) if hasattr(value, "__qualname__") else f"{module.__name__}.{name}"


# Tables of things that can be chosen by name.

_DETECTORS = (
    "A detector scores every label and turns the scores into a verdict. Choose one with `eigenclean detect "
    "--method NAME`, `detector(name)` or `find_label_issues(labels, features, method=name)`; without a name it is "
    f"`{DEFAULT}`. Set its options with `--set option=value` or as keywords."
)
_CUTS = (
    "A cut turns the scores of a detector into probabilities that the label is right. Choose one with `--set "
    'cut=NAME` or `FINE(cut="name")`; set its options with `--set cut.option=value` or by giving a cut: '
    '`FINE(cut=GaussianCut(split="always"))`. [Choose a threshold and a cut](../howto/threshold.md) says when.'
)
_NOISES = (
    "A noise makes labels wrong in a known way, for measuring detectors. Choose one with `eigenclean noise --kind "
    "NAME` or `add_noise(labels, name)`; set its options with `--set option=value` or as keywords. "
    "[Make noise and measure a detector](../howto/measure.md) shows how."
)


_ENCODERS = (
    "An encoder turns images or texts into features. Choose one with `--encoder NAME`, in Python with "
    "`make_encoder(name)`; without a name it is the best that is installed, and the program says which. Those of "
    "other people's models take a name, a folder or a file after a colon; options follow a question mark: "
    "`--encoder 'timm:resnet18.a1_in1k?size=160'`. A file that ends in `.onnx` or `.pt` needs no name before it. "
    "[Images and texts](../howto/images-and-texts.md) shows how."
)


def encoders_page(results: Path) -> str:
    """The encoders with what they are, what they need and their options, and what was measured with them."""
    lines = ["# Encoders", "", _ENCODERS, "", "| Name | What it is | Install |", "|---|---|---|"]
    for name, entry in ENCODERS.items():
        shown = name if entry.argument is None else f"{name}:…"
        lines.append(f"| [`{shown}`](#{_anchor(name)}) | {_cell(entry.summary)} | `pip install {entry.pip}` |")
    lines.append("| `trained` | a small network trained on these very labels | `pip install 'eigenclean[train]'` |")
    if results.exists():
        lines += _measured(json.loads(results.read_text(encoding="utf-8")))
    described: dict[str, str] = {}
    for name, entry in ENCODERS.items():
        path = f"{entry.module}.{entry.class_name}"
        lines += ["", f"## {name} {{ #{_anchor(name)} }}"]
        if path in described:
            lines += ["", f"See [{described[path]}](#{_anchor(described[path])})."]
        else:
            described[path] = name
            lines += _directive(path, heading_level=3)
    lines += [
        "",
        "## trained",
        "",
        "`--encoder 'trained?net=small-cnn&epochs=5&size=32&seed=0'`: what a network sees before its last layer "
        "after learning the given labels for a few epochs, of images or of feature vectors, as in the paper. "
        "`'trained?folds=3'`: logits of three networks, each for the rows whose labels it has not seen.",
        *_directive(TRAINED_ENCODER, heading_level=3),
    ]
    return "\n".join(lines) + "\n"


def _measured(facts: Mapping[str, Any]) -> list[str]:
    lines = [
        "",
        "## From contents to verdict",
        "",
        f"What `eigenclean bench embed` measured on one thread, {facts['date']}: the default judge on features "
        "that were computed from the pictures or texts in the same run, and embedding against a bare loop of the "
        "same model at the same batch size.",
        "",
        "| Data | Encoder | Rows | Wrong labels | AUROC |",
        "|---|---|---|---|---|",
    ]
    for entry in facts["quality"]:
        if entry["status"] == "done":
            numbers = f"{entry['n_samples']} | {100 * entry['noise_rate']:.1f} % | {entry['auroc']:.3f}"
            lines.append(f"| {entry['case']} | `{entry['encoder']}` | {numbers} |")
    lines += ["", "| Embedding | Time against the bare loop |", "|---|---|"]
    lines += [f"| {entry['case']} | {entry['ratio']:.2f} |" for entry in facts["cases"]]
    return lines


def table_page(title: str, intro: str, option: str, table: Mapping[str, type[Any]], base: type[Any]) -> str:
    """One section for each entry of a table, and for what its entries share."""
    lines = [f"# {title}", "", intro, "", "| Name | What it is | Options |", "|---|---|---|"]
    for name, kind in table.items():
        options = ", ".join(f"`{field}`" for field in inspect.signature(kind).parameters)
        lines.append(f"| [`{name}`](#{_anchor(name)}) | {_cell(_summary(kind))} | {options} |")
    for name, kind in table.items():
        choice = f"{option}{name}" if option.endswith("=") else f"{option} {name}"
        lines += [
            "",
            f"## {name} {{ #{_anchor(name)} }}",
            "",
            f"`{choice}`",
            *_directive(_path(kind), heading_level=3),
        ]
    shared = _shared_bases(table, base)
    if shared:
        lines += ["", "## What they share"]
        for parent in shared:
            lines += _directive(_path(parent), heading_level=3)
    return "\n".join(lines) + "\n"


def _shared_bases(table: Mapping[str, type[Any]], base: type[Any]) -> list[type[Any]]:
    """The classes of ours from which the entries of a table derive, each once."""
    parents = [parent for kind in table.values() for parent in kind.__mro__[1:] if issubclass(parent, base)]
    return list(dict.fromkeys(parent for parent in parents if parent.__module__.startswith("eigenclean")))


def _anchor(name: str) -> str:
    return f"name-{name}"


def _path(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _summary(kind: Any) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")


def _directive(path: str, **options: Any) -> list[str]:
    return ["", f"::: {path}", "    options:", *(f"      {key}: {value}" for key, value in options.items())]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# Pages that live elsewhere in the repository.


def changelog_page() -> str:
    """CHANGELOG.md of the repository."""
    path = ROOT / "CHANGELOG.md"
    return path.read_text(encoding="utf-8") if path.exists() else "# Changelog\n\nNothing has been released yet.\n"


def decisions_page() -> str:
    """A list of the decisions on record."""
    lines = ["# Decisions", "", "Why things are as they are: one short record for each decision.", ""]
    for path in sorted(DECISIONS.glob("*.md")):
        title = next(
            (line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line[:2] == "# "), path.stem
        )
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"
