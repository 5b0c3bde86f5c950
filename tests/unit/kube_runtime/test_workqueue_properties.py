"""Whatever is done to the queue: no key lost, no key twice, no key with two workers."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kube_runtime.clock import FakeClock
from kube_runtime.workqueue import WorkQueue

KEYS = st.sampled_from("abcdef")
SECONDS = st.sampled_from([0.0, 0.001, 0.5, 1.0, 10.0])


def take(queue: WorkQueue[str]) -> str:
    """Run get() to its end, which it reaches without waiting when a key is ready."""
    coroutine = queue.get()
    try:
        coroutine.send(None)
    except StopIteration as end:
        return str(end.value)
    coroutine.close()
    raise AssertionError("get() waited although a key was ready")


class Queue(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.queue = WorkQueue[str]("test", clock=self.clock)
        self.owed: list[str] = []  # must be given out, oldest first
        self.held: set[str] = set()
        self.due: dict[str, float] = {}

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key)
        self._owe(key)

    @rule(key=KEYS, seconds=SECONDS)
    def add_after(self, key: str, seconds: float) -> None:
        self.queue.add_after(key, seconds)
        if seconds == 0:
            self._owe(key)
        else:
            self._delay(key, seconds)

    @rule(key=KEYS)
    def add_rate_limited(self, key: str) -> None:
        failures = self.queue.failures(key)
        self.queue.add_rate_limited(key)
        self._delay(key, min(0.005 * 2**failures, 120.0))

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        self.clock.shift(seconds)
        now = self.clock.monotonic()
        for key, _ in sorted(self.due.items(), key=lambda item: item[1]):
            if self.due[key] <= now:
                del self.due[key]
                self._owe(key)

    @precondition(lambda self: self.queue.depth)
    @rule()
    def get(self) -> None:
        key = take(self.queue)

        assert key not in self.held, "two workers on one key"
        assert key in self.owed, "a key that nobody asked for"
        self.owed.remove(key)
        self.held.add(key)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.held.remove(key)
        self.queue.done(key)

    @invariant()
    def every_owed_key_that_is_free_is_ready_once(self) -> None:
        ready = list(self.queue._ready)
        assert sorted(ready) == sorted(set(self.owed) - self.held)

    @invariant()
    def every_delayed_key_is_kept_once(self) -> None:
        assert self.queue.delayed == len(self.due)
        assert len(self.queue._delayed._heap) <= 2 * len(self.due) + 16

    def teardown(self) -> None:
        """Nothing is lost: after all the delays, all that is owed comes out."""
        expected = set(self.owed) | set(self.due)
        self.clock.shift(1000)
        for key in self.held:
            self.queue.done(key)

        got = [take(self.queue) for _ in range(self.queue.depth)]

        assert sorted(got) == sorted(expected)

    def _owe(self, key: str) -> None:
        if key not in self.owed:
            self.owed.append(key)

    def _delay(self, key: str, seconds: float) -> None:
        due = self.clock.monotonic() + seconds
        self.due[key] = min(due, self.due.get(key, due))


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
