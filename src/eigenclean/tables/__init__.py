"""Tables of mixed columns as numbers: the role of each column is found, encoded, told in one line and saved."""

from eigenclean.tables.encoding import ColumnChoices, TableEncoding, fit_encoding
from eigenclean.tables.roles import Role

__all__ = ["ColumnChoices", "Role", "TableEncoding", "fit_encoding"]
