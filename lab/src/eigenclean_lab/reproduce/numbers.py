"""The paper's numbers as they are printed, and how to read them."""

from collections.abc import Mapping, Sequence

from eigenclean_lab.reproduce.values import Number, Place

TABLE1 = """
standard      87.0±0.1 78.2±0.8 53.8±1.0 85.0±0.0 58.7±0.3 42.5±0.3 18.1±0.8 42.7±0.6
bootstrap     86.2±0.2 –        54.1±1.3 81.2±1.5 58.3±0.2 –        21.6±1.0 45.1±0.6
forward       88.0±0.4 –        54.6±0.4 83.6±0.6 39.2±2.6 –        9.0±0.6  34.4±1.9
co-teaching   89.3±0.3 83.3±0.6 66.3±1.5 88.4±2.8 63.4±0.0 49.1±0.4 20.5±1.3 47.7±1.2
co-teaching+  89.1±0.5 84.9±0.4 63.8±2.3 86.5±1.2 59.2±0.4 47.1±0.3 20.2±0.9 44.7±0.6
topofilter    90.4±0.2 86.8±0.3 46.8±1.0 87.5±0.4 66.9±0.4 53.4±1.8 18.3±1.7 56.6±0.5
crust         89.4±0.2 87.0±0.1 64.8±1.5 82.4±0.0 69.3±0.2 62.3±0.2 21.7±0.7 56.1±0.5
fine          91.0±0.1 87.3±0.2 69.4±1.1 89.5±0.1 70.3±0.2 64.2±0.5 25.6±1.2 61.7±1.0
f-coteaching  92.0±0.1 87.5±0.1 74.2±0.8 90.5±0.2 71.1±0.2 64.7±0.3 31.6±1.0 64.8±0.7
"""
TABLE2 = """
dividemix    96.1/95.7 94.6/94.4 93.2/92.9 76.0/75.4 93.4/92.1 77.3/76.9 74.6/74.2 60.2/59.6 31.5/31.0
dst          96.1/95.9 95.2/94.7 92.9/92.6 –         94.3/92.3 78.0/77.4 74.3/73.6 57.8/55.3 –
longremix    96.2/96.0 95.0/94.7 93.9/93.4 82.0/81.3 94.7/94.3 77.8/77.5 75.6/75.1 62.9/62.3 33.8/33.2
f-dividemix  96.1/96.0 94.9/94.5 93.5/93.2 90.5/89.6 93.8/92.8 79.1/78.8 74.6/74.3 61.0/60.1 34.3/31.2
"""
TABLE3 = """
standard    68.94
gce         69.75
sce         71.02
elr         72.87
dividemix   74.30
cores2      73.24
fine        72.91
f-dividemix 74.37
"""
TABLE4 = """
1st 0.015±0.009 0.029±0.019 0.057±0.038
2nd 0.043±0.021 0.078±0.044 0.135±0.052
"""
TABLE5 = """
mean  90.32/0.8814 86.03/0.4879 67.78/0.6593
eigen 91.42/0.9217 87.20/0.8626 71.55/0.7339
"""
TABLE6 = """
standard  87.0±0.1 78.2±0.8 53.8±1.0 80.1±1.4 58.7±0.3 42.5±0.3 18.1±0.8 42.7±0.6
gce       89.8±0.2 86.5±0.2 64.1±1.4 76.7±0.6 66.8±0.4 57.3±0.3 29.2±0.7 47.2±1.2
sce       89.8±0.3 84.7±0.3 68.1±0.8 82.5±0.5 70.4±0.1 48.8±1.3 25.9±0.4 48.4±0.9
elr       91.2±0.1 88.2±0.1 72.9±0.6 90.1±0.5 74.2±0.2 59.1±0.8 29.8±0.6 73.3±0.6
fine      91.0±0.1 87.3±0.2 69.4±1.1 89.5±0.1 70.3±0.2 64.2±0.5 25.6±1.2 61.7±1.0
gce+fine  91.4±0.1 86.9±0.1 75.3±1.2 88.9±0.3 70.5±0.1 61.5±0.5 37.0±2.1 62.4±0.5
sce+fine  90.4±0.2 85.1±0.2 70.5±0.8 86.9±0.3 70.9±0.3 64.1±0.7 29.9±0.8 64.3±0.3
elr+fine  91.5±0.1 88.5±0.1 74.7±0.5 91.1±0.2 74.9±0.2 66.7±0.4 32.5±0.5 73.8±0.4
"""
TABLE7 = """
0.40 69.75/0.7270
0.45 73.02/0.7466
0.50 71.55/0.7339
0.55 68.80/0.7165
0.60 67.78/0.7016
"""
TABLE8 = """
cores2 89.50 82.84 61.25 48.96
fine   89.84 86.68 62.21 47.81
"""
TABLE9 = """
dividemix   2.2
fine        20.1
fine-1%     1.1
f-dividemix 40.2
f-dividemix-1% 2.1
"""
TABLE10 = """
crust       72.40/89.56/67.36/87.84
fine        75.24/90.28/70.08/89.71
dividemix   77.32/91.64/75.20/90.84
f-dividemix 77.28/91.44/75.20/91.28
"""
AT_ONE_PERCENT = 0.99  # cosine of the eigenvector of 1 % of a class with that of all: the only number of a figure


def read_table(
    text: str, columns: Sequence[str], figures: Sequence[str], names: Mapping[str, str] | None = None
) -> dict[str, dict[Place, Number]]:
    """The numbers by figure, then by row and column; ``a/b`` are several figures, ``–`` is none.

    Args:
        text: a line for every row: its name, then an entry for every column.
        columns: their names.
        figures: their keys.
        names: of rows, where they are printed otherwise.

    >>> read_table("mean 90.3±0.1/0.88 –", ["S20", "S50"], ["acc", "f"])["f"]
    {('mean', 'S20'): Number(mean=0.88, deviation=None)}
    """
    numbers: dict[str, dict[Place, Number]] = {figure: {} for figure in figures}
    for line in text.strip().splitlines():
        row, *entries = line.split()
        for column, entry in zip(columns, entries, strict=True):
            for figure, printed in zip(figures, entry.split("/") if entry != "–" else (), strict=False):
                mean, _, deviation = printed.partition("±")
                place = (names or {}).get(row, row), column
                numbers[figure][place] = Number(float(mean), float(deviation) if deviation else None)
    return numbers
