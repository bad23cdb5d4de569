"""Run schedules: `python -m tests.trainer.simulation [SEED…] [--first N --seeds N]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from .world import BrokenError, World


def main() -> int:
    """Run them; print the story of each that broke something. Exit 1 when one did."""
    parser = argparse.ArgumentParser(prog="python -m tests.trainer.simulation")
    parser.add_argument("seed", nargs="*", type=int, help="run these, and tell their stories")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=2000, help="how many, without a story")
    options = parser.parse_args()
    for seed in options.seed:
        world = World.drawn(seed)
        try:
            world.run()
        except BrokenError as broken:
            print("\n".join(world.engine.story), broken, sep="\n")
            return 1
        print("\n".join(world.engine.story))
    if options.seed:
        return 0
    began, broken_seeds, kinds = time.process_time(), [], Counter[str]()
    for seed in range(options.first, options.first + options.seeds):
        try:
            World.drawn(seed).run()
        except BrokenError as broken:
            broken_seeds.append(seed)
            kinds[str(broken).partition(": ")[2][:70]] += 1
    seconds = time.process_time() - began
    print(f"{options.seeds} schedules, {seconds:.1f} s of CPU, {len(broken_seeds)} broken")
    for kind, count in kinds.most_common(20):
        print(f"  {count} x {kind}")
    print(" ".join(map(str, broken_seeds[:50])))
    return 1 if broken_seeds else 0


if __name__ == "__main__":
    sys.exit(main())
