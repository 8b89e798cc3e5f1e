"""Executors run jobs: in this process, in worker processes, or on any concurrent.futures.Executor.

::

    SerialExecutor.map ── run_job, here and now

                                                                ┌─ ExternalPool: the user's executor ──── its workers
    FuturesExecutor.map ─┐   jobs    ┌───────────┐  submissions │  (threads, processes, Dask, Ray, ...)   run_batch
                         ├─────────> │ Scheduler │ ───────────> ┤  FuturesTransport
    ProcessExecutor.map ─┘           │           │ <─────────── │  ProcessTransport
                  <───────────────── └───────────┘  Finished,   └─ WorkerPool: our own processes, ─────── worker.main
                  outcomes,          which job next WorkerDied     each at one end of a Channel
                  in any order       kills, clocks
                                     memory, deadline

    data ── DatasetWriter ── file in a temporary folder ── mapped by every worker (sent as bytes where it cannot be)
    jobs ── JobSerializer ── bytes; estimators and solvers shared by many jobs are sent once ── JobDeserializer

``scheduler`` decides, and is the same for all; ``processes`` and ``futures`` have the two transports. What a worker
does is in ``worker`` (ours) and ``remote_worker`` (of other executors). ``environment`` has what must be alike wherever
a fit runs: settings, threads, versions of packages, code.
"""
