"""What builds, serves, writes and counts, and is no test: `python -m tools.NAME`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
