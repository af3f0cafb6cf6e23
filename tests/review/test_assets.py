"""The bundle: every module once, after what it imports, and nothing that only a module may contain."""

import re

from eigenclean.assets import bundle
from eigenclean.review.single_page import page_files


def test_every_module_of_the_page_is_in_the_bundle() -> None:
    files = page_files()
    script = bundle(files, "main.js")
    modules = [name for name in files if name.endswith(".js")]
    assert sorted(re.findall(r'^modules\["([\w.]+)"\] = ', script, re.MULTILINE)) == sorted(modules)
    assert "\nimport " not in script and "\nexport " not in script
    assert "</script" not in script


def test_a_module_comes_after_those_that_it_imports() -> None:
    script = bundle(page_files(), "main.js")
    defined: set[str] = set()
    for definition, use in re.findall(
        r'^modules\["([\w.]+)"\] = |^const \{[^}]*\} = modules\["([\w.]+)"\];', script, re.MULTILINE
    ):
        if definition:
            defined.add(definition)
        else:
            assert use in defined


def test_a_module_that_two_others_import_is_bundled_once() -> None:
    files = {
        "main.js": 'import { a } from "./a.js";\nimport { b } from "./b.js";\na(b);',
        "a.js": 'import { c } from "./c.js";\nexport function a(x) { return c + x; }',
        "b.js": 'import { c } from "./c.js";\nexport const b = c;',
        "c.js": "export const c = 1;",
    }
    script = bundle(files, "main.js")
    assert re.findall(r'^modules\["(\w)\.js"\] = ', script, re.MULTILINE) == ["c", "a", "b"]
    assert script.count("const c = 1;") == 1
