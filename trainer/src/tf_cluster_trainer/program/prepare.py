"""What a task with the user's program does before it needs any other task."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tf_cluster_trainer.config import Config
from tf_cluster_trainer.program import flags as program_flags
from tf_cluster_trainer.program import load as user_program
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.trial import Trial, run_trial


@dataclass(frozen=True)
class Prepared:
    """The program, its context, and what the trial found."""

    program: Program
    ctx: Context
    trial: Trial


def prepare(config: Config) -> Prepared:
    """Import the program and try it on this machine. Raises ProgramError."""
    program, ctx = loaded(config)
    return Prepared(program, ctx, run_trial(program, ctx))


def loaded(config: Config) -> tuple[Program, Context]:
    """Import the program and make its context. Raises ProgramError."""
    # TensorFlow's Python log repeats, over many lines, what we log in one.
    logging.getLogger("tensorflow").setLevel(logging.CRITICAL)
    program = user_program.load(config.settings)
    settings = config.settings
    ctx = Context(
        task=config.task,
        settings=settings,
        flags=program_flags.of_run(program, config.flags),
        data_dir=settings.data_dir,
        log_dir=settings.log_dir,
        run_dir=settings.run_dir,
    )
    return program, ctx
