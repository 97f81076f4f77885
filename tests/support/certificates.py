"""Certificates made on the spot: an authority, a server, clients, and a revocation list."""

import datetime
import ssl
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)
# What an authority may do. Python 3.13 and later trust none that does not say it, and no
# certificate that does not say whose key signed it.
_SIGNS = x509.KeyUsage(
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

    def revoke(self, folder: Path, *certificates: Path) -> Path:
        """A revocation list that names these."""
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.name)
            .last_update(NOW - DAY)
            .next_update(NOW + DAY)
        )
        for file in certificates:
            serial = x509.load_pem_x509_certificate(file.read_bytes()).serial_number
            entry = x509.RevokedCertificateBuilder().serial_number(serial)
            builder = builder.add_revoked_certificate(entry.revocation_date(NOW - DAY).build())
        file = folder / "revoked.pem"
        crl = builder.sign(self.key, hashes.SHA256())
        file.write_bytes(crl.public_bytes(serialization.Encoding.PEM))
        return file

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - DAY)
            .not_valid_after(NOW + DAY)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), False)
            .add_extension(issuer, False)
        )


@cache
def authority(name: str = "Test Authority") -> Authority:
    return Authority(name)


def client_context(ca: Path, certificate: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca))
    if certificate is not None:
        context.load_cert_chain(*certificate)
    return context
