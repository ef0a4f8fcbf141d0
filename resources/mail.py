"""Alerts by e-mail: a message for each recipient, by SMTP over TLS.

Each recipient is a receiver of its own: a mailbox that is full gets the alert later, and nobody gets it twice.
"""

import hashlib
import os
import re
import smtplib
import ssl
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import Any
from urllib.parse import urlsplit

import dagster as dg

from formats.errors import ConfigError, TransientError
from resources import alert_words
from resources.outbox import Alert, Receiver, RefusedError

SERVER, USER, PASSWORD = "CORPUS_SMTP", "CORPUS_SMTP_USER", "CORPUS_SMTP_PASSWORD"
SENDER, RECIPIENTS = "CORPUS_MAIL_FROM", "CORPUS_MAIL_TO"
_VARIABLES = {"server": SERVER, "user": USER, "password": PASSWORD, "sender": SENDER, "recipients": RECIPIENTS}
_PORTS = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}")
"""The addresses of the HTML standard, without comments, names, quotes, spaces or lines."""


class Mail(dg.ConfigurableResource):
    """The server and the mailboxes; an empty server means nobody asked for e-mail."""

    server: str = ""
    user: str = ""
    password: str = ""
    sender: str = ""
    recipients: str = ""
    timeout_seconds: float = 10.0

    def receivers(self) -> Sequence[Receiver]:
        """One for each recipient; with settings that a person has to mend one that says so, so that no other channel
        waits for it.
        """
        if not self.server:
            return []
        try:
            return self._mailboxes()
        except ConfigError as error:
            return [_Unusable(str(error))]

    def _mailboxes(self) -> list["Mailbox"]:
        scheme, host, port = _server(self.server)
        if (self.user == "") != (self.password == ""):
            raise ConfigError(f"{USER} and {PASSWORD}: one is set without the other; set both, or none")
        if self.user and scheme == "smtp+plain":
            raise ConfigError(f"{SERVER}: a password is sent over TLS alone; write smtp:// (STARTTLS) or smtps://")
        if not self.user.isascii() or not self.password.isascii():
            raise ConfigError(f"{USER} and {PASSWORD}: expected ASCII characters")
        addresses = [part.strip() for part in self.recipients.split(",") if part.strip()]
        if not addresses:
            raise ConfigError(f"{RECIPIENTS}: is not set; write the addresses of the recipients with commas between")
        for variable, address in ((SENDER, self.sender), *((RECIPIENTS, one) for one in addresses)):
            if not _ADDRESS.fullmatch(address):
                raise ConfigError(f"{variable}: expected addresses such as corpus@example.org, without names")
        login = (self.user, self.password) if self.user else None
        return [
            Mailbox(number, address, self.sender, scheme, host, port, login, self.timeout_seconds)
            for number, address in enumerate(dict.fromkeys(addresses), 1)
        ]

    @classmethod
    def set_in_environment(cls) -> str:
        """The channel in words, "" where it is not set. Raises ConfigError for settings that a person has to mend."""
        found: dict[str, Any] = {key: os.environ[name] for key, name in _VARIABLES.items() if os.environ.get(name)}
        if not found:
            return ""
        if "server" not in found:
            others = ", ".join(_VARIABLES[key] for key in found)
            raise ConfigError(f"{SERVER}: is not set, and {others} is; set the server, or unset the others")
        to = len(cls(**found)._mailboxes())
        return f"mail ({SERVER}, to {to} {'address' if to == 1 else 'addresses'})"

    @classmethod
    def of_environment(cls) -> "Mail":
        """All of it stays in the environment: the UI shows the variables' names in its place."""
        if not os.environ.get(SERVER):
            return cls()
        found: Mapping[str, Any] = {key: dg.EnvVar(name) for key, name in _VARIABLES.items() if os.environ.get(name)}
        return cls(**found)


@dataclass(frozen=True)
class _Unusable:
    words: str
    name: str = "mail"

    def send(self, name: str, alert: Alert) -> None:
        del name, alert
        raise ConfigError(self.words)


@dataclass(frozen=True)
class Mailbox:
    """One recipient, the `number`th that is set, and the way there."""

    number: int
    address: str
    sender: str
    scheme: str
    host: str
    port: int
    login: tuple[str, str] | None = field(repr=False)
    timeout_seconds: float = 10.0

    @property
    def name(self) -> str:
        return f"mail-{hashlib.sha256(self.address.encode()).hexdigest()[:16]}"

    def send(self, name: str, alert: Alert) -> None:
        """Hand the alert to the server. Raises as Receiver.send says; whatever the server answers after it took the
        message changes nothing.
        """
        words, refused = self._send(self.message(name, alert))
        if words:  # raised here and not where it was found: the library's errors hold what was sent
            said = f"{SERVER}: the alert for address {self.number} of {RECIPIENTS} was not taken: {words}"
            raise RefusedError(said) if refused else TransientError(said)

    def message(self, name: str, alert: Alert) -> EmailMessage:
        """The message. Its id is the same for each try, so that a mailbox can tell one that came twice."""
        message = EmailMessage(policy=SMTP)
        message["Subject"] = alert_words.title(alert)
        message["From"], message["To"] = self.sender, self.address
        message["Date"] = formatdate()
        digest = hashlib.sha256(f"{name} {self.address}".encode("utf-8", "replace")).hexdigest()[:32]
        message["Message-ID"] = f"<{digest}@{self.sender.rpartition('@')[2]}>"
        message["Auto-Submitted"] = "auto-generated"
        lines = [alert_words.title(alert), ""]
        lines += [f"{says}: {value}" for says, value in alert_words.facts(alert)]
        for head, words in alert_words.failures(alert):
            lines += ["", head, f"  {words}"]
        if url := alert.get("run_url"):
            lines += ["", f"The run: {alert_words.one_line(url, 2_000)}"]
        message.set_content("\n".join(lines) + "\n")
        return message

    def _send(self, message: EmailMessage) -> tuple[str, bool]:
        """What went wrong, "" for nothing, and whether it was this message or recipient that the server refused."""
        server = None
        try:
            server = self._connected()
            server.send_message(message, self.sender, [self.address])
        except smtplib.SMTPAuthenticationError as error:
            return f"the server does not accept {USER} and {PASSWORD} (code {error.smtp_code})", False
        except smtplib.SMTPRecipientsRefused as error:
            return self._answer(*next(iter(error.recipients.values())))
        except smtplib.SMTPResponseException as error:
            return self._answer(error.smtp_code, error.smtp_error)
        except smtplib.SMTPNotSupportedError:
            return "the server offers no STARTTLS, or no login; nothing was sent in the clear", False
        except ssl.SSLError as error:
            return f"TLS failed: {error.reason or 'the certificate is not trusted'}", False
        except (OSError, smtplib.SMTPException, ValueError) as error:
            late = "no answer in time" if isinstance(error, TimeoutError) else ""
            return late or (error.strerror if isinstance(error, OSError) else "") or type(error).__name__, False
        else:
            with suppress(OSError, smtplib.SMTPException):
                server.quit()
            return "", False
        finally:
            if server:
                server.close()

    def _connected(self) -> smtplib.SMTP:
        if self.scheme == "smtps":
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=self.timeout_seconds, context=context)
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=self.timeout_seconds)
        try:
            if self.scheme == "smtp":
                server.starttls(context=ssl.create_default_context())
            if self.login:
                server.login(*self.login)
        except BaseException:  # whatever ends it, the connection ends with it
            server.close()
            raise
        return server

    def _answer(self, code: int, text: bytes | str) -> tuple[str, bool]:
        """The server's words, but for those that repeat what is secret."""
        words = alert_words.one_line(text.decode("utf-8", "replace") if isinstance(text, bytes) else text, 200)
        user, password = self.login or ("", "")
        secrets = [password, *(b64encode(x.encode()).decode() for x in (password, f"\0{user}\0{password}"))]
        if password and any(secret in words for secret in secrets):
            words = ""
        return f"the server answered {code} {words}".rstrip(), 500 <= code < 600


def _server(url: str) -> tuple[str, str, int]:
    """(scheme, host, port). Raises ConfigError, without the URL."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        parts, port = urlsplit(""), 0
    if not port or not parts.hostname or "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigError(
            f"{SERVER}: expected smtp://HOST[:PORT] (STARTTLS), smtps://HOST[:PORT] or smtp+plain://HOST[:PORT] "
            f"(neither encrypted nor with a login); user and password stand in {USER} and {PASSWORD}"
        )
    return parts.scheme, parts.hostname, port
