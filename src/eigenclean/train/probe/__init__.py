"""The probe: judge the labels, then fit a shrunk linear head, or any scikit-learn classifier, without torch."""
