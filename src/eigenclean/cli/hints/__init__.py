"""What helps to type the next command: the line "Next:", and completion in the shell."""
