"""Certificates for the brokers of a bench: an authority of its own signs one for each."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY: Final = datetime.timedelta(days=1)
_SIGNS: Final = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def make_certificates(folder: Path, names: Sequence[str]) -> Path:
    """The folder, with `ca.pem`, and `NAME.pem` and `NAME.key` for each; good for a day, and for
    this machine."""
    folder.mkdir(parents=True)
    authority = _named("Bench")
    signer = ec.generate_private_key(ec.SECP256R1())
    own = _certificate(authority, authority, signer.public_key(), signer)
    own = own.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
    own = own.add_extension(_SIGNS, True)
    _write(folder / "ca.pem", own.sign(signer, hashes.SHA256()))
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _certificate(_named(name), authority, key.public_key(), signer)
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        _write(folder / f"{name}.pem", made.sign(signer, hashes.SHA256()))
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return folder


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(
    subject: x509.Name,
    authority: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), False)
        .add_extension(identifier, False)
    )


def _write(file: Path, certificate: x509.Certificate) -> None:
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
