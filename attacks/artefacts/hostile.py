"""What every attack plants: code that leaves a mark, pickles that run it, and files outside that must stay."""

from pathlib import Path

from attacks import seeds, table_seeds

CANARY = "canary-of-the-attack"
MARK = "mark"


def plant_outside(root: Path) -> None:
    """``outside/``: a secret, an image and a class folder that no artefact may reach."""
    outside = root / "outside"
    (outside / "dog").mkdir(parents=True)
    (outside / "secret.txt").write_text(CANARY, encoding="utf-8")
    (outside / "victim.png").write_bytes(seeds.picture(99))
    (outside / "dog" / "victim.png").write_bytes(seeds.picture(98))
    table_seeds.write_arrow(outside)
    table_seeds.write_csv(outside)


def evil_module(root: Path) -> str:
    """Python code that leaves a mark when it is imported, and a function that leaves another."""
    mark = root / MARK
    return f"""
open({str(mark)!r}, "a").write("imported ")

def make_net(*args, **options):
    open({str(mark)!r}, "a").write("called ")
    from torch import nn
    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())
"""


def evil_pickles(root: Path) -> dict[str, bytes]:
    """Pickles that write the mark, each with other opcodes."""
    command = f"touch {root / MARK}".encode()
    code = f"open({str(root / MARK)!r}, 'a').write('x')".encode()
    short = bytes([len(command)]) if len(command) < 256 else b"\xff"
    return {
        "global": b"cos\nsystem\n(S'" + command + b"'\ntR.",
        "posix": b"cposix\nsystem\n(S'" + command + b"'\ntR.",
        "inst": b"(S'" + command + b"'\nios\nsystem\n.",
        "obj": b"(cos\nsystem\nS'" + command + b"'\no.",
        "eval": b"c__builtin__\neval\n(S'" + code.replace(b"'", b'"') + b"'\ntR.",
        "exec": b"\x80\x02cbuiltins\nexec\nX" + len(code).to_bytes(4, "little") + code + b"\x85R.",
        "stack-global": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c" + short + command + b"\x85R.",
        "newobj": b"\x80\x02csubprocess\nPopen\n]S'touch'\naS'" + str(root / MARK).encode() + b"'\na\x85\x81.",
        "build": b"\x80\x02}(S'data'\ncos\nsystem\n(S'" + command + b"'\ntRu.",
        "importlib": b"cimportlib\nimport_module\n(S'evil'\ntR.",
        "persistent": b"Pcos.system\n.",
        "extension": b"\x82\x01.",
        "numpy-load": b"cnumpy\nload\n(S'" + str(root / "outside" / "secret.txt").encode() + b"'\ntR.",
    }
