"""What prometheus_client's own collectors report; declared for the documentation and the rules."""

from __future__ import annotations

from exporters.catalogue.metric import Bounded, Metric

_GENERATION = {"generation": ("0", "1", "2")}
_ONE = Bounded("one value in each process", 1)

METRICS: tuple[Metric, ...] = (
    Metric(
        name="process_cpu_seconds_total",
        type="counter",
        unit="seconds",
        help="Processor time of the process, user and system.",
    ),
    Metric(
        name="process_resident_memory_bytes",
        type="gauge",
        unit="bytes",
        help="Resident memory of the process.",
    ),
    Metric(
        name="process_virtual_memory_bytes",
        type="gauge",
        unit="bytes",
        help="Virtual memory of the process.",
    ),
    Metric(
        name="process_start_time_seconds",
        type="gauge",
        unit="seconds",
        help="When the process started, in seconds of Unix time.",
    ),
    Metric(name="process_open_fds", type="gauge", help="Open file descriptors of the process."),
    Metric(name="process_max_fds", type="gauge", help="Limit of open file descriptors."),
    Metric(
        name="python_info",
        type="gauge",
        labels={
            "implementation": _ONE,
            "major": _ONE,
            "minor": _ONE,
            "patchlevel": _ONE,
            "version": _ONE,
        },
        help="Always 1; the labels tell the Python in use.",
    ),
    Metric(
        name="python_gc_objects_collected_total",
        type="counter",
        labels=_GENERATION,
        help="Objects that the garbage collector freed.",
    ),
    Metric(
        name="python_gc_objects_uncollectable_total",
        type="counter",
        labels=_GENERATION,
        help="Objects that the garbage collector could not free.",
    ),
    Metric(
        name="python_gc_collections_total",
        type="counter",
        labels=_GENERATION,
        help="Runs of the garbage collector.",
    ),
)
