"""Tables: files and data frames whose rows are samples."""
