"""The program's code, read and never run: is it what the params file says of it?

What can't be known without running it is no finding; `Reading.notes` says what that was.
"""
