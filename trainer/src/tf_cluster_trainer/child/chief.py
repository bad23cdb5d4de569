"""The chief's child: it sends calls to workers, and its training is on the ps."""

from __future__ import annotations

from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.child.records import Hears, Start, Training, newest_of_ours, train_as_chief
from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop import in_graph as in_graph_loop
from tf_cluster_trainer.loop.plan import Plan
from tf_cluster_trainer.protocol import Lost
from tf_cluster_trainer.servers import connect
from tf_cluster_trainer.strategies import parameter_servers, registry
from tf_cluster_trainer.strategies.parameter_servers import CHIEF, Making


def train(start: Start) -> int:
    """Make the run's remaining steps; the exit code. Raises what ends it early."""
    told, prepared = start.told, start.prepared
    settings, trial, cluster = told.settings, prepared.trial, told.cluster
    restored = newest_of_ours(told, prepared)
    connect.check_peers(cluster)
    start.servers.meet()
    with connect.killable():
        log(f"connecting to {cluster.size('worker')} workers and {cluster.size('ps')} ps")
        strategy = parameter_servers.connect(cluster, settings.precision)
    making = Making(
        strategy=strategy,
        program=prepared.program,
        ctx=prepared.ctx,
        trial=trial,
        workers=cluster.size("worker"),
        origin=restore.resume_point_of(restored, settings.optimizer.name),
        lost=lambda task: start.channel.send(Lost(task)),
    )
    calls = registry.make(settings.combination, making)
    model = checkpoint_variables.of_model(trial.variables, calls.model)
    slots = checkpoint_variables.of_optimizer(calls.optimizer, model, calls.model)
    if restored:
        restore.fill(restored, settings.optimizer.name, model, slots)
    del restored  # it is on the ps now; a copy here would only cost memory

    def run(plan: Plan, report: Hears, save: Hears) -> bool:
        return in_graph_loop.run(plan, calls, stop=start.stop.requested, report=report, save=save)

    training = Training(
        devices=calls.devices(),
        counters=calls.counters,
        copy=checkpoint_variables.Copy((*model, *slots), CHIEF),
        quiesced=calls.quiesced,
        run=run,
        max_in_flight=1 if settings.combination.lockstep else cluster.size("worker"),
    )
    return train_as_chief(start, making.origin, training)
