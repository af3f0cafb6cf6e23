"""Rows of methods that several tables share, and what has to be said about them."""

from dataclasses import replace

from eigenclean_lab.reproduce.values import TableRow, method_spec

# Methods that are told the share of wrong labels, as by their authors. That FINE needs no such number is one of its
# claims, and users do not know it.
KNOW_RATE = ("co-teaching", "co-teaching+")
_RATE_NOTE = (
    "told the noise rate, as by its authors, which no other row is: it drops nine tenths of that share of each "
    "batch; under labels of people, of the true share of wrong ones"
)
RATE_UNKNOWN = TableRow(
    "co-teaching, rate unknown",
    (method_spec("train", "co-teaching", forget_rate=0.2),),
    note="not in the paper: Co-teaching as it runs for those who cannot tell it the noise rate; it drops a fifth "
    "of each batch, the default of the recipe",
)
_MORE = {
    "probe": "; it trains no network: in medium it judges and classifies features of the same images by the "
    "encoder as it was pretrained, elsewhere the inputs of the other methods"
}


def recipe_rows(*names: str, validated: bool = True) -> tuple[TableRow, ...]:
    """Trainings with these recipes, as the paper has them."""
    return tuple(
        TableRow(
            name,
            (method_spec("train", name, validated=validated),),
            note=_RATE_NOTE if name in KNOW_RATE else "",
        )
        for name in names
    )


def newer_rows(*names: str, validated: bool = True) -> tuple[TableRow, ...]:
    """Methods that the paper does not have, beside those that it has."""
    rows = recipe_rows(*names, validated=validated)
    return tuple(
        replace(row, note=f"not in the paper: a method of this project{_MORE.get(row.name, '')}") for row in rows
    )
