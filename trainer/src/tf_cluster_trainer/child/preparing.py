"""What a task that has the user's program does before any other task is there."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tf_cluster_trainer.child import program_flags, user_program
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.context import Context
from tf_cluster_trainer.program import Program
from tf_cluster_trainer.strategies.rehearsal import Rehearsal, rehearse


@dataclass(frozen=True)
class Prepared:
    """The program, what it is told, and what it makes."""

    program: Program
    ctx: Context
    rehearsal: Rehearsal


def prepare(told: Config) -> Prepared:
    """Import and try the program. Raises ProgramError."""
    # TensorFlow's Python log repeats, over many lines, what we say in one.
    logging.getLogger("tensorflow").setLevel(logging.CRITICAL)
    program = user_program.load(told.settings)
    settings = told.settings
    ctx = Context(
        task=told.task,
        settings=settings,
        flags=program_flags.of_run(program, told.flags),
        data_dir=settings.data_dir,
        log_dir=settings.log_dir,
        run_dir=settings.run_dir,
    )
    return Prepared(program, ctx, rehearse(program, ctx))
