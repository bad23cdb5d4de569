"""What a cluster holds of trainings: the only part of the tool that talks to an API server.

What imports its client (connection.py, reading.py, logs.py and what stands on them) is imported by
the verbs that look at a cluster and by nothing else, since that takes a while. snapshot.py and the
doctor's rules are pure.
"""
