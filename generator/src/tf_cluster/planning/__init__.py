"""What a training will be in a cluster, before there is one: pods, names, addresses, memory.

`plan.py` decides a whole plan of values, without I/O. What the chart's templates make of values is
said here a second time, as data; tests/generator/planning holds both together with the real helm.
"""
