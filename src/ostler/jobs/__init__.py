"""What the engine runs, one file per kind of work: each takes an id, re-reads its rows, and may run twice.

A body is told what is wanted by the row and by nothing else, so it may be stopped after any write and any
call to the cloud: the next run finds what the last one wrote. Bodies send the commands; what the cloud
then shows is taken in by `usecases/observe.py`, here or by the watcher, whoever is first.
"""
