"""Certificates made on the spot: an authority, a server, clients, and a revocation list."""

import datetime
import ssl
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from gossamer_lab.bench import certificates
from gossamer_lab.bench.certificates import DAY

NOW = datetime.datetime.now(datetime.UTC)


class Authority(certificates.Authority):
    """Takes back what it has signed, too."""

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


@cache
def authority(name: str = "Test Authority") -> Authority:
    return Authority(name)


def client_context(ca: Path, certificate: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca))
    if certificate is not None:
        context.load_cert_chain(*certificate)
    return context
