"""Every receiver gets every alert once, whatever happens to the others: over real HTTP and SMTP servers."""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.errors import ConfigError, TransientError
from resources import outbox as outboxes
from resources.mail import Mail
from resources.outbox import BusyError, Outbox, Receiver, RefusedError
from resources.slack import Slack
from resources.webhook import Webhook
from tests import receiver as http
from tests import smtp_server as smtp
from tests.receiver import DROP, HANG
from tests.smtp_server import SmtpServer

ALERT = {"run_id": "7", "status": "FAILURE", "failed_checks": [], "failed_steps": []}


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Told:
    """A receiver in this process: what it does a try, in order, then it takes."""

    name: str
    does: list[Exception | None] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)

    def send(self, name: str, alert: outboxes.Alert) -> None:
        del alert
        if self.does and (error := self.does.pop(0)):
            raise error
        self.taken.append(name)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outbox(tmp_path: Path, clock: Clock) -> Outbox:
    return Outbox(tmp_path / "alerts", clock)


def until_told(outbox: Outbox, clock: Clock, receivers: list[Receiver], passes: int = 30) -> list[str]:
    """Deliver again and again, as the sensor does; what each pass complained of."""
    said = []
    for _ in range(passes):
        try:
            outbox.deliver(receivers)
        except TransientError as error:
            said.append(str(error))
        clock.now += outboxes.PAUSE_SECONDS
    return said


FAULTS: dict[str, tuple[list[http.Answer], dict[str, list[str]]]] = {
    "down with 5xx": ([503, 500, 502], {"CONNECT": ["421 down"], "MAIL": ["451 later"], "DATA.": ["452 full"]}),
    "refused with 4xx": ([400, 404, 403], {"RCPT": ["550 no such user"], "DATA.": ["554 spam"], "MAIL": ["553 who"]}),
    "asked to wait": ([(429, "1"), (429, "60"), (503, "5")], {"CONNECT": ["421 busy"], "EHLO": ["421 busy"]}),
    "dropped": ([DROP, DROP], {"CONNECT": [smtp.DROP], "DATA": [smtp.DROP], "DATA.": [smtp.DROP]}),
    "silent": ([HANG], {"CONNECT": [smtp.HANG], "DATA.": [smtp.HANG]}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_receiver_that_fails_and_comes_back_misses_nothing_and_the_others_get_nothing_twice(
    fault: str, outbox: Outbox, clock: Clock
) -> None:
    answers, of_mail = FAULTS[fault]
    with http.Receiver(*answers) as slack, http.Receiver() as hook, SmtpServer(of_mail) as server:
        patience = 2.0 if fault == "silent" else 60.0  # two seconds: the good answers must come within them, too
        mail = Mail(
            server=server.url, sender="a@b.example", recipients="c@d.example, e@d.example", timeout_seconds=patience
        )
        receivers = [
            *Webhook(url=hook.url, tries=1, timeout_seconds=60.0).receivers(),
            *Slack(url=slack.url, tries=1, timeout_seconds=patience).receivers(),
            *mail.receivers(),
        ]
        for name in ("run-1", "run-2"):
            outbox.put(name, {**ALERT, "run_id": name}, receivers)
        said = until_told(outbox, clock, receivers)
        for name in ("run-1", "run-2"):  # the same failure again is the same alert
            outbox.put(name, {**ALERT, "run_id": name}, receivers)
        assert until_told(outbox, clock, receivers, 3) == []
    assert any("CORPUS_SLACK_WEBHOOK" in words for words in said)
    assert any("CORPUS_SMTP" in words for words in said)
    assert not any("CORPUS_WEBHOOK" in words for words in said)
    assert [alert["run_id"] for alert in hook.taken] == ["run-1", "run-2"]
    assert len(hook.requests) == 2
    assert len(slack.taken) == 2
    mails = sorted((taken.recipients, str(taken.message["Message-ID"])) for taken in server.taken)
    assert [to for to, _ in mails] == [("c@d.example",)] * 2 + [("e@d.example",)] * 2
    assert len({one for _, one in mails}) == 4


def test_one_recipient_that_is_refused_gets_it_later_and_the_other_once(outbox: Outbox, clock: Clock) -> None:
    with SmtpServer({"RCPT": ["250 fine", "452 mailbox full"]}) as server:
        mail = Mail(server=server.url, sender="a@b.example", recipients="c@d.example,e@d.example")
        receivers = list(mail.receivers())
        outbox.put("run-1", ALERT, receivers)
        for receiver in receivers:  # one after the other, so that it is known who is refused
            until_told(outbox, clock, [receiver], 1)
        assert [taken.recipients for taken in server.taken] == [("c@d.example",)]
        assert until_told(outbox, clock, receivers) == []
    assert [taken.recipients for taken in server.taken] == [("c@d.example",), ("e@d.example",)]


def test_a_slow_receiver_does_not_hold_up_the_others(outbox: Outbox) -> None:
    slow_may_end, fast_is_told = threading.Event(), threading.Event()

    class Slow(Told):
        def send(self, name: str, alert: outboxes.Alert) -> None:
            assert slow_may_end.wait(60)
            super().send(name, alert)

    class Fast(Told):
        def send(self, name: str, alert: outboxes.Alert) -> None:
            super().send(name, alert)
            fast_is_told.set()

    receivers: list[Receiver] = [Slow("slow"), Fast("fast")]
    outbox.put("a", ALERT, receivers)
    delivering = threading.Thread(target=outbox.deliver, args=(receivers,))
    delivering.start()
    assert fast_is_told.wait(60)
    slow_may_end.set()
    delivering.join()
    assert [one.taken for one in receivers] == [["a"], ["a"]]


def test_retry_after_is_kept_even_by_a_new_process_and_even_a_day_is_at_most_an_hour(
    outbox: Outbox, clock: Clock
) -> None:
    told = Told("told", [BusyError("busy", 86_400)])
    outbox.put("a", ALERT, [told])
    with pytest.raises(TransientError, match="busy"):
        outbox.deliver([told])
    again = Outbox(outbox.folder, clock)
    clock.now += outboxes.MAX_PAUSE_SECONDS - 1
    assert again.deliver([told]) == 0
    clock.now += 1
    assert again.deliver([told]) == 1


def test_an_alert_that_is_refused_for_good_holds_up_no_other(outbox: Outbox) -> None:
    told = Told("told", [RefusedError("no")])
    for name in ("a", "b", "c"):
        outbox.put(name, ALERT, [told])
    with pytest.raises(TransientError, match="no"):
        outbox.deliver([told])
    assert told.taken == ["b", "c"]
    assert outbox.deliver([told]) == 1
    assert told.taken == ["b", "c", "a"]


def test_a_damaged_file_is_named_and_holds_up_no_other(outbox: Outbox) -> None:
    told = Told("told")
    for name in ("a", "b"):
        outbox.put(name, ALERT, [told])
    (outbox.folder / "told" / "a.json").write_text("{", "utf-8")
    with pytest.raises(TransientError, match=r"a\.json: content is .* delete it"):
        outbox.deliver([told])
    assert told.taken == ["b"]


def test_wrong_settings_of_one_channel_are_told_and_stop_no_other(outbox: Outbox) -> None:
    wrong, right = Told("wrong", [ConfigError("mend it")]), Told("right")
    outbox.put("a", ALERT, [wrong, right])
    with pytest.raises(TransientError, match="mend it"):
        outbox.deliver([wrong, right])
    assert right.taken == ["a"]


def test_a_receiver_that_is_down_is_tried_once_a_pass_however_much_waits(outbox: Outbox, clock: Clock) -> None:
    told = Told("told", [TransientError("down")])
    for name in "abc":
        outbox.put(name, ALERT, [told])
    with pytest.raises(TransientError, match="down"):
        outbox.deliver([told])
    assert outbox.deliver([told]) == 0  # in the pause
    clock.now += outboxes.PAUSE_SECONDS
    assert outbox.deliver([told]) == 3


def test_a_kill_between_send_and_rename_tells_it_again_and_one_after_it_does_not(outbox: Outbox) -> None:
    class Killed(BaseException):
        pass

    class Dies(Told):
        def send(self, name: str, alert: outboxes.Alert) -> None:
            super().send(name, alert)
            if len(self.taken) == 1:
                raise Killed

    told = Dies("told")
    outbox.put("a", ALERT, [told])
    with pytest.raises(Killed):
        outbox.deliver([told])
    assert outbox.deliver([told]) == 1
    outbox.put("a", ALERT, [told])
    assert outbox.deliver([told]) == 0
    assert told.taken == ["a", "a"]


def test_an_alert_that_a_racing_sensor_put_again_is_not_sent_again(outbox: Outbox) -> None:
    told = Told("told")
    outbox.put("a", ALERT, [told])
    assert outbox.deliver([told]) == 1
    (outbox.folder / "told" / "a.json").write_text("{}", "utf-8")
    assert outbox.deliver([told]) == 0
    assert not list((outbox.folder / "told").glob("*.json"))
    assert told.taken == ["a"]


ERRORS = st.sampled_from([None, TransientError("down"), RefusedError("no"), BusyError("busy", 50), ConfigError("set")])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(ERRORS, max_size=6), min_size=1, max_size=3), st.integers(1, 4))
def test_whatever_fails_each_receiver_is_told_each_alert_exactly_once(
    does: list[list[Exception | None]], alerts: int
) -> None:
    clock = Clock()
    receivers = [Told(f"r{i}", list(errors)) for i, errors in enumerate(does)]
    with TemporaryDirectory() as folder:
        outbox = Outbox(Path(folder), clock)
        for i in range(alerts):
            outbox.put(f"a{i}", ALERT, receivers)
        until_told(outbox, clock, list(receivers), 25)
    for receiver in receivers:
        assert sorted(receiver.taken) == [f"a{i}" for i in range(alerts)]


def test_without_receivers_nothing_is_written(outbox: Outbox) -> None:
    outbox.put("a", ALERT, [])
    assert outbox.deliver([]) == 0
    assert not outbox.folder.exists()


@pytest.fixture(autouse=True)
def no_real_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test of these waits by the wall clock; threads that libraries left in this process may."""
    mine, sleep = threading.current_thread(), time.sleep

    def pause(seconds: float) -> None:
        if threading.current_thread() is mine:
            pytest.fail("slept")
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", pause)


def test_what_was_told_is_known_for_a_while_and_then_forgotten(outbox: Outbox, clock: Clock) -> None:
    told = Told("a")
    outbox.put("1", ALERT, [told])
    outbox.deliver([told])
    clock.now += outboxes.TOLD_SECONDS - 1
    outbox.put("1", ALERT, [told])
    outbox.put("2", ALERT, [told])
    outbox.deliver([told])
    assert told.taken == ["1", "2"]
    clock.now += 2
    outbox.put("3", ALERT, [told])
    outbox.deliver([told])
    assert {path.stem for path in (outbox.folder / "a" / "told").iterdir()} == {"2", "3"}
