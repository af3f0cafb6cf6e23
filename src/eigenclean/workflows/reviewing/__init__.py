"""Work that the review page can start: judging the run again."""
