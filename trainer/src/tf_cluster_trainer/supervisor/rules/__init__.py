"""What a supervisor does when something happens: pure functions, without I/O and without a clock.

Each is `(what is fixed, state, event, now) -> (state, actions)`. Processes, HTTP, files, threads
and clocks stand outside (task.py) and obey; tests/trainer/simulation runs whole attempts of these
rules in virtual time.
"""
