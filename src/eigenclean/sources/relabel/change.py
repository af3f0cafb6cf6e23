"""What is to be written: which rows get which labels instead of which."""

from dataclasses import dataclass

from eigenclean.arrays import Array, Ints


@dataclass(frozen=True, eq=False)
class Change:
    """Labels to put into rows, in ascending order of the rows.

    Attributes:
        rows: positions in the data.
        ids: ids of these rows.
        before: labels as they are.
        after: labels as they shall be.
    """

    rows: Ints
    ids: Array
    before: Array
    after: Array

    def __len__(self) -> int:
        return len(self.rows)
