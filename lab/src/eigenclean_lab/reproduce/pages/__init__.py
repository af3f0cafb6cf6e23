"""Tables of the paper for people: text, figures, HTML pages and the page of the documentation."""
