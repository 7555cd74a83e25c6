"""The figures of the site for Prometheus, in its text format: nothing of what the work is about, only how much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from runs.selectors import gauges, storage

TYPE = "text/plain; version=0.0.4; charset=utf-8"
Samples = Iterable[tuple[tuple[str, ...], float]]


def text(found: gauges.Gauges, held: storage.Storage, *, streams: int) -> bytes:
    """Return the figures as Prometheus reads them, with how many pages listen to this process."""
    registry = CollectorRegistry()
    registry.register(_Given(found, held, streams))
    return generate_latest(registry)


class _Given:
    """A collector of one look."""

    def __init__(self, found: gauges.Gauges, held: storage.Storage, streams: int) -> None:
        self.found, self.held, self.streams = found, held, streams

    def describe(self) -> Iterable[Metric]:
        """Return nothing: what there is comes with the look."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every figure."""
        found = self.found
        yield _one("runs_due", "Runs that no worker has taken up yet, by agent.", ("agent",),
                   (((row.agent,), row.count) for row in found.due))  # fmt: skip
        yield _one("run_due_oldest_seconds", "For how long the oldest of them has been due.", (),
                   [((), found.due_oldest)])  # fmt: skip
        yield _one("runs_open", "Runs that have not ended, by status.", ("status",), _by(found.runs))
        yield _one("runs_ended_last_hour", "Runs that ended in the last hour, by status.", ("status",),
                   _by(found.ended))  # fmt: skip
        yield _one("claims_lost", "Runs whose worker was lost and that nobody has taken over yet, at most "
                   f"{gauges.SHOWN}.", (), [((), len(found.lost))])  # fmt: skip
        by_kind = [((row.kind, str(row.tier)), row) for row in found.questions]
        kinds = ("kind", "tier")
        yield _one(
            "questions_open", "Open questions to people.", kinds, ((key, row.count) for key, row in by_kind)
        )
        yield _one("questions_overdue", "Those that nobody answered in time.", kinds,
                   ((key, row.overdue) for key, row in by_kind))  # fmt: skip
        yield _one("question_oldest_seconds", "For how long the oldest has been open.", kinds,
                   ((key, row.oldest) for key, row in by_kind))  # fmt: skip
        yield _one(
            "deliveries",
            "Notices that wait to be sent, or were given up.",
            ("status",),
            _by(found.deliveries),
        )
        yield _one(
            "delivery_oldest_seconds",
            "For how long the oldest that is due has waited.",
            (),
            [((), found.delivery_oldest)],
        )
        yield _one("connections", "Connections to the database, by role; all of them, and the most there may be.",
                   ("role",), _by({**found.connections, "most": found.most_connections}))  # fmt: skip
        if found.clock is not None:
            yield _one("clock_seconds", "How long ago the clock looked.", (), [((), found.clock)])
        yield _one("transaction_oldest_seconds", "For how long the oldest transaction has been open.", (),
                   [((), found.transaction)])  # fmt: skip
        yield _one("database_bytes", "Size of the database.", (), [((), found.bytes)])
        yield _one("storage_bytes", "What it holds by kind, with indexes, as found in the last minutes.", ("kind",),
                   (((kind.key,), kind.bytes) for kind in self.held.kinds))  # fmt: skip
        yield _one("storage_lines", "About how many lines the log has.", (), [((), self.held.lines)])
        yield _one("storage_lines_a_day", "About how many of them were written a day in the last week.", (),
                   [((), self.held.paces[0].lines)])  # fmt: skip
        yield _one("broker_up", "Whether the broker answers.", (), [((), float(found.broker is not None))])
        if found.broker is not None:
            yield _one("broker_messages", "Wake-ups that wait at the broker.", (), [((), found.broker)])
        yield _one(
            "switches", "Switches that pause everything, an agent or a tool.", (), [((), len(found.paused))]
        )
        yield _one("halted", "Whether no run is taken up at all.", (), [((), float(found.halted))])
        yield _one("streams", "Open pages that listen to this web process.", (), [((), self.streams)])
        yield _one("tokens_last_hour", "Tokens of runs that ended in the last hour.", ("direction",),
                   [(("in",), found.used["tokens_in"]), (("out",), found.used["tokens_out"])])  # fmt: skip
        yield _one("cost_micro_last_hour", "Their known cost, in millionths of a US dollar.", (),
                   [((), found.used["cost_micro"])])  # fmt: skip


def _one(name: str, words: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    family = GaugeMetricFamily(f"ckptsite_{name}", words, labels=labels)
    for key, value in samples:
        family.add_metric(list(key), value)
    return family


def _by(counts: Mapping[str, int]) -> Samples:
    return [((str(key),), float(value)) for key, value in counts.items()]
