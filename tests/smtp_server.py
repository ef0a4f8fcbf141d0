"""A real SMTP server on a socket: STARTTLS, TLS from the start, AUTH PLAIN and LOGIN, and answers to order.

`with SmtpServer({"DATA.": ["451 later"]}) as server:` answers the first end of a message with 451, then as it should.
Keys are commands in capitals, `CONNECT` and `DATA.` (the end of a message); an answer is a line, DROP or HANG.
"""

import ipaddress
import socketserver
import ssl
import threading
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DROP, HANG = "drop", "hang"
_FOLDER = TemporaryDirectory(prefix="smtp-server-")


@cache
def certificate() -> Path:
    """A PEM file with key and certificate of 127.0.0.1, its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the tests' mail server")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    as_pem = serialization.Encoding.PEM
    private = key.private_bytes(as_pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = Path(_FOLDER.name) / "server.pem"
    path.write_bytes(private + made.public_bytes(as_pem))
    return path


@dataclass(frozen=True)
class Taken:
    """One message that the server took: the envelope, the bytes, and whether they came encrypted."""

    sender: str
    recipients: tuple[str, ...]
    data: bytes
    encrypted: bool
    login: tuple[str, str] | None

    @property
    def message(self) -> EmailMessage:
        found = message_from_bytes(self.data, policy=default)
        assert isinstance(found, EmailMessage)
        return found

    @property
    def text(self) -> str:
        return self.message.get_content().replace("\r\n", "\n")


class SmtpServer:
    """`tls` is "starttls", "ssl" or "none"; `taken` are the messages answered with 250."""

    def __init__(self, answers: Mapping[str, list[str]] | None = None, *, tls: str = "none") -> None:
        self.answers = {command: list(lines) for command, lines in (answers or {}).items()}
        self.tls = tls
        self.taken: list[Taken] = []
        self.lines: list[str] = []
        self.ends = threading.Event()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if tls != "none":
            self.context.load_cert_chain(certificate())
        self._server = _Server(("127.0.0.1", 0), _Session)
        self._server.smtp = self
        self.port = self._server.server_address[1]
        scheme = {"starttls": "smtp", "ssl": "smtps", "none": "smtp+plain"}[tls]
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> "SmtpServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.ends.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    smtp: SmtpServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some tests want."""


class _Session(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        smtp = self.server.smtp
        self.encrypted = smtp.tls == "ssl"
        self.login: tuple[str, str] | None = None
        if self.encrypted:
            self.request = smtp.context.wrap_socket(self.request, server_side=True)
        self.file = self.request.makefile("rb")
        sender, recipients = "", []
        alive = self.say("CONNECT", "220 ready")
        while alive and (line := self.file.readline()):
            text = line.decode("ascii").strip()
            smtp.lines.append(text)
            command, _, rest = text.partition(" ")
            match command.upper():
                case "EHLO":
                    offers = ["STARTTLS"] if smtp.tls == "starttls" and not self.encrypted else []
                    offers += ["AUTH PLAIN LOGIN"] if self.encrypted else []
                    words = ["127.0.0.1", *offers, "8BITMIME"]
                    lines = [*(f"250-{word}" for word in words[:-1]), f"250 {words[-1]}"]
                    alive = self.say("EHLO", "\r\n".join(lines))
                case "STARTTLS":
                    if alive := self.say("STARTTLS", "220 go on"):
                        self.request = smtp.context.wrap_socket(self.request, server_side=True)
                        self.file, self.encrypted = self.request.makefile("rb"), True
                case "AUTH":
                    self.login = tuple(b64decode(rest.split()[1]).decode().split("\0")[1:])
                    alive = self.say("AUTH", "235 welcome")
                case "MAIL":
                    sender, recipients = rest.partition("<")[2].partition(">")[0], []
                    alive = self.say("MAIL", "250 fine")
                case "RCPT":
                    if alive := self.say("RCPT", "250 fine"):
                        recipients.append(rest.partition("<")[2].partition(">")[0])
                case "DATA":
                    if (alive := self.say("DATA", "354 go on")) and self.last.startswith("354"):
                        data = b""
                        while (line := self.file.readline()) not in (b".\r\n", b""):
                            data += line.removeprefix(b".")
                        answer = self.told("DATA.", "250 taken")
                        if answer.startswith("250"):  # before the client hears of it
                            smtp.taken.append(Taken(sender, tuple(recipients), data, self.encrypted, self.login))
                        alive = self.answer(answer)
                case "QUIT":
                    self.say("QUIT", "221 bye")
                    alive = False
                case "RSET":
                    alive = self.say("RSET", "250 fine")
                case _:
                    alive = self.say(command.upper(), "502 unknown")
        self.request.close()

    def say(self, command: str, usual: str) -> bool:
        """Answer as told, else as usual; False when the session ends."""
        self.last = self.told(command, usual)
        return self.answer(self.last)

    def told(self, command: str, usual: str) -> str:
        told = self.server.smtp.answers.get(command)
        return told.pop(0) if told else usual

    def answer(self, words: str) -> bool:
        if words == HANG:
            self.server.smtp.ends.wait()
        if words in (HANG, DROP):
            return False
        self.request.sendall(f"{words}\r\n".encode())
        return not words.startswith("421")
