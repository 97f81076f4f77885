"""Certificates made on the spot: an authority, and what it signs for who is on this machine."""

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
# What an authority may do. Python 3.13 and later trust none that does not say it, and no
# certificate that does not say whose key signed it.
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


class Authority:
    """Signs what it is asked to."""

    def __init__(self, name: str) -> None:
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(self.name, self.key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(_SIGNS, True)
        self.certificate = builder.sign(self.key, hashes.SHA256())

    def write(self, folder: Path) -> Path:
        file = folder / "ca.pem"
        file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        return file

    def issue(self, folder: Path, name: str, *common_names: str) -> tuple[Path, Path]:
        """Files with a certificate and its key. The names default to `name`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, one) for one in common_names or (name,)]
        )
        builder = self._builder(subject, key.public_key()).add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost")]), False
        )
        certificate = builder.sign(self.key, hashes.SHA256())
        pem, key_file = folder / f"{name}.pem", folder / f"{name}.key"
        pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pem, key_file

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), False)
            .add_extension(issuer, False)
        )


def make_certificates(folder: Path, names: Sequence[str]) -> Path:
    """The folder, with `ca.pem`, and `NAME.pem` and `NAME.key` for each."""
    folder.mkdir(parents=True)
    signer = Authority("Bench")
    signer.write(folder)
    for name in names:
        signer.issue(folder, name)
    return folder
