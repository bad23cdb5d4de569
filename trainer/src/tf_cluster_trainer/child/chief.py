"""The chief's child, in-graph: it sends calls to the workers; the variables are on the ps."""

from __future__ import annotations

from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.pieces import is_small, total
from tf_cluster_trainer.checkpoint.reading import VariableState
from tf_cluster_trainer.child.records import (
    OnCounters,
    Start,
    Training,
    newest_of_ours,
    owner_check,
    train_as_chief,
)
from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop import in_graph as in_graph_loop
from tf_cluster_trainer.loop.plan import Plan
from tf_cluster_trainer.program import memory
from tf_cluster_trainer.protocol import Lost
from tf_cluster_trainer.servers import connect
from tf_cluster_trainer.strategies import registry
from tf_cluster_trainer.strategies.context import StrategyContext
from tf_cluster_trainer.strategies.in_graph import ps_volume
from tf_cluster_trainer.strategies.in_graph.cluster import check_sizes, connected_strategy
from tf_cluster_trainer.strategies.step import state_memory
from tf_cluster_trainer.strategies.step.devices import CHIEF, ps_bytes


def train(start: Start) -> int:
    """Make the run's remaining steps and return the exit code. Raises what ends it early."""
    config, prepared = start.config, start.prepared
    settings, trial, cluster = config.settings, prepared.trial, config.cluster
    context = StrategyContext(
        config=config,
        program=prepared.program,
        ctx=prepared.ctx,
        trial=trial,
        restored=lambda: newest_of_ours(config, prepared),
        check_owner=owner_check(config),
        lost=lambda task: start.channel.send(Lost(task)),
    )
    check_sizes(trial.variables, settings.precision)
    restored = context.restored()
    resume_point = restore.resume_point_of(restored, settings.optimizer.name)
    connect.check_peers(cluster)
    start.servers.remember_incarnations()
    with connect.killable():
        log(f"connecting to {cluster.size('worker')} workers and {cluster.size('ps')} ps")
        strategy = connected_strategy(cluster, settings.precision, trial.variables)
    state = state_memory.state_bytes(trial, settings.optimizer)
    ps = cluster.size("ps")
    memory.look_at_own("chief", trial.variables, state, ps)
    whole = state_memory.whole_in_graph(trial, settings.optimizer, settings.precision)
    state_memory.look_at_ps(state, ps, lambda: ps_volume.memory(ps), whole)
    calls = registry.make(context, strategy, resume_point)
    model = checkpoint_variables.of_model(trial.variables, calls.model)
    slots = checkpoint_variables.of_optimizer(calls.optimizer, model, calls.model)
    # What goes through this process must go through its memory, so a small state may.
    in_reach = not is_small(total(one.spec for one in (*model, *slots))) and ps_volume.reach(
        settings.run_dir,
        settings.ps_log_volume,
        cluster.size("ps"),
        check_owner=context.check_owner,
    )
    if restored:
        by_ps = ps_volume.read if in_reach else None
        restore.fill(restored, settings.optimizer.name, model, slots, context.check_owner, by_ps)

    def run(plan: Plan, report: OnCounters, save: OnCounters) -> bool:
        return in_graph_loop.run(plan, calls, stop=start.stop.requested, report=report, save=save)

    training = Training(
        devices=calls.devices(),
        counters=calls.counters,
        state=VariableState(
            (*model, *slots), CHIEF, ps_writing=ps_volume.writing if in_reach else None
        ),
        quiesced=calls.quiesced,
        run=run,
        ps_bytes=ps_bytes((*model, *slots)),
        max_in_flight=1 if settings.combination.lockstep else cluster.size("worker"),
    )
    return train_as_chief(start, resume_point, training)
