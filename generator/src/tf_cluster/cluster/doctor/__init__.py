"""Why a training does not go on: pure rules over a snapshot, one file for each kind of failure.

`rules/` has the rules; `view.py` is what a rule sees; `finding.py` is what it says.
"""
