"""Everything the pages show is run, and comes out as shown; `python docs/examples.py` refreshes the output."""

import doctest
from pathlib import Path
from types import ModuleType

import pytest


@pytest.mark.usefixtures("repeated_rows")
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning 2.6 with torch 2.13
@pytest.mark.filterwarnings("ignore:.*does not have many workers")  # Lightning, about a data set in memory
def test_what_the_page_shows_is_what_comes_out(examples: ModuleType, shown_page: Path) -> None:
    stale = examples.check_page(shown_page)
    assert not stale, "\n\n".join(place.complaint for place in stale)


def test_a_percent_sign_stays_beside_its_number_in_tables(hooks: ModuleType) -> None:
    shown = hooks.on_page_markdown("About 5 % of:\n\n| share |\n|---|\n| 2.5 % |\n\n```console exit=1\n$ false\n")
    assert shown == "About 5 % of:\n\n| share |\n|---|\n| 2.5\N{NO-BREAK SPACE}% |\n\n```console\n$ false\n"


def write(folder: Path, text: str, name: str = "page.md") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_blocks_of_a_page_share_names_and_a_folder(examples: ModuleType, tmp_path: Path) -> None:
    page = write(
        tmp_path,
        "```python\nimport pathlib\npathlib.Path('a.txt').write_text('hello')\nx = 2\n```\n"
        "    ```python\n    print(x + 1)\n    ```\n\n    ```text\n    3\n    ```\n"
        "```console\n$ cat a.txt\nhel...\n$ echo one \\\n> two\none two\n```\n",
    )
    assert examples.check_page(page) == []


def test_stale_output_is_noticed_and_refreshed(examples: ModuleType, tmp_path: Path) -> None:
    text = "```python\nprint(1)\n```\n\n```text\n{}\n```\n\n```console\n$ echo 'took 1.5 s'\n{}\n$ true\n```\n"
    page = write(tmp_path, text.format("2", "took 2 days"))
    assert len(examples.check_page(page)) == 2
    assert examples.refresh(page) == 2
    assert page.read_text(encoding="utf-8") == text.format("1", "took ... s")
    assert examples.check_page(page) == []


def test_output_may_be_left_out(examples: ModuleType, tmp_path: Path) -> None:
    assert examples.check_page(write(tmp_path, "```python\nprint(1)\n```\n```console\n$ echo 1\n```\n")) == []


def test_exit_codes_must_be_as_said(examples: ModuleType, tmp_path: Path) -> None:
    assert examples.check_page(write(tmp_path, "```console exit=2\n$ true\n$ exit 2\n```\n")) == []
    for text in (
        "```console\n$ false\n```\n",
        "```console exit=2\n$ true\n```\n",
        "```console exit=1\n$ false\n$ false\n```\n",
    ):
        with pytest.raises(examples.BadPage, match="exit code"):
            examples.check_page(write(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "```bash\nls\n```\n",
        "```\nls\n```\n",
        "```text\nwords\n```\n",
        "```console\nls\n```\n",
        "```yaml\na: [\n```\n",
        "```yaml\njobs: {a: {steps: [{run: eigenclean nonsense}]}}\n```\n",
        "```python\nx = 1\n",
    ],
)
def test_a_block_that_nobody_checks_is_refused(examples: ModuleType, tmp_path: Path, text: str) -> None:
    with pytest.raises(examples.BadPage):
        examples.check_page(write(tmp_path, text))


def test_text_must_stand_directly_below_its_code(examples: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(examples.BadPage):
        examples.check_page(write(tmp_path, "```python\nprint(1)\n```\nWords.\n```text\n1\n```\n"))


def test_failing_code_names_the_line_of_the_page(examples: ModuleType, tmp_path: Path) -> None:
    page = write(tmp_path, "# Title\n\n```python\nx = 1\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        examples.check_page(page)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (page, 5)


def test_only_readme_and_contributing_show_commands_without_running_them(
    examples: ModuleType, tmp_path: Path
) -> None:
    text = "```console\n$ make demo   # words\n$ pip install eigenclean\n```\n"
    assert examples.check_page(write(tmp_path, text, "README.md")) == []
    with pytest.raises(examples.BadPage, match="make demo"):
        examples.check_page(write(tmp_path, text))
    with pytest.raises(examples.BadPage, match="exit code"):
        examples.check_page(write(tmp_path, "```console\n$ make nonsense\n```\n", "README.md"))


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("97 % of 295", "96 % of 301", True),
        ("97 % of 295", "37 % of 295", False),
        ("97 % of 295", "97 % in 295", False),
        ("a\n...\nF 0.91", "a\nb 3\nc\nF 0.905", True),
        ("took ... s", "took 0.1 s", True),
    ],
)
def test_approx_lets_numbers_differ_a_little_and_words_not_at_all(
    examples: ModuleType, shown: str, printed: str, alike: bool
) -> None:
    assert examples.matches(shown.splitlines(), printed, approx=True) is alike


def test_doctests_of_the_scripts(examples: ModuleType, docstrings: ModuleType) -> None:
    for module in (examples, docstrings):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0


def test_lines_about_progress_are_not_shown(examples: ModuleType, tmp_path: Path) -> None:
    lines = ("cells: 11 %, about 103 s left", "embedding: 200 of 1000 images, 20 %, 20 images/s, about 40 s left")
    said = "; ".join(f"echo '{line}'" for line in (*lines, "noise: 12.5 % of all"))
    assert examples.check_page(write(tmp_path, f"```console\n$ {said}\nnoise: 12.5 % of all\n```\n")) == []
