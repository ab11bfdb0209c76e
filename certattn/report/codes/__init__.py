"""What every verdict, exit status and obligation means: texts as data, and how they are found."""
