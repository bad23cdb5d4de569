"""Whole attempts in virtual time: the supervisor's own rules in a world that is drawn at random.

The rules (tf_cluster_trainer/supervisor/rules, the decision of tf_cluster_cleanup) are the real
ones. Everything they act on is a model here: processes, HTTP, the disk, Kubernetes' Jobs. One seed
is one schedule.
"""
