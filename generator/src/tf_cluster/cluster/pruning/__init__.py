"""What may go: releases that have ended (releases.py), and runs on a claim (the other files)."""
