"""How the cells of each kind are measured: trainings, analyses of trained features, times and theorems."""
