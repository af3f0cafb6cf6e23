"""What decisions of people teach the judge, and in which order labels are best looked at, with known truth."""
