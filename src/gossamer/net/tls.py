"""TLS contexts from the configuration, and the name in a client's certificate."""

import ssl
from pathlib import Path
from typing import Any, Final

from gossamer.net.config.listeners import Tls
from gossamer.net.config.mesh import PeerTls
from gossamer.net.config.value_types import ConfigError

# TLS 1.2 with forward secrecy and authenticated encryption only; those of TLS 1.3 all have both.
CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL"
VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
CLIENT_CERTIFICATE: Final = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


def server_context(tls: Tls) -> ssl.SSLContext:
    """The context of a listener; ConfigError, naming the file, if one cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[tls.minimum_version]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    try:
        context.set_ciphers(tls.ciphers or CIPHERS)
    except ssl.SSLError as error:
        raise ConfigError(f"tls.ciphers = {tls.ciphers}: OpenSSL knows no such cipher") from error
    _show(context, tls.certificate, tls.key)
    for path in (tls.client_ca, tls.revoked):
        if path is not None:
            try:
                context.load_verify_locations(path)
            except (OSError, ssl.SSLError) as error:
                raise ConfigError(f"{path}: {_why(error)}") from error
    if tls.revoked is not None:
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    context.verify_mode = CLIENT_CERTIFICATE[tls.client_certificate]
    return context


def client_context(tls: PeerTls) -> ssl.SSLContext:
    """The context for dialling a neighbour; ConfigError if a file cannot be used."""
    try:
        context = ssl.create_default_context(cafile=None if tls.ca is None else str(tls.ca))
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"{tls.ca}: {_why(error)}") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.certificate is not None:
        _show(context, tls.certificate, tls.key)
    return context


def _show(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    """From now on the context shows that certificate."""
    try:
        # A key with a pass phrase would make OpenSSL ask on the terminal; it gets none instead.
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"{certificate} with key {key}: {_why(error)}") from error


def certificate_user(certificate: dict[str, Any] | None) -> str:
    """The common name of a verified certificate's subject (as `getpeercert()` gives it), or "".

    A subject with several common names, or with a NUL, names nobody: which one counts would be a
    matter of taste, and tastes differ between the authority and us.
    """
    if not certificate:
        return ""
    names = [
        value
        for part in certificate.get("subject", ())
        for key, value in part
        if key == "commonName"
    ]
    return names[0] if len(names) == 1 and "\0" not in names[0] else ""


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"not usable: {error.reason or error}".replace("_", " ").lower()
    return f"cannot be read: {getattr(error, 'strerror', error)}"
