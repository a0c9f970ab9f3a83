"""The certificates with which a study, its workers and a Dask scheduler recognise each other."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError

_SCHEME = "tls://"
SAME_AUTHORITY = "with TLS and a certificate of the same authority"


@dataclass(frozen=True)
class Certificates:
    """PEM files. ca: the authority that signed the certificates of all processes; certificate and
    key: those of this process."""

    ca: Path
    certificate: Path
    key: Path

    def security(self) -> Any:
        """Return Dask's settings, which refuse connections without TLS.

        Raises LockwrightError if a file cannot be read or the key is that of another certificate.
        """
        from distributed import Security

        self._check()
        certificate, key = str(self.certificate), str(self.key)
        return Security(
            tls_ca_file=str(self.ca),
            tls_client_cert=certificate,
            tls_client_key=key,
            tls_worker_cert=certificate,
            tls_worker_key=key,
            require_encryption=True,
        )

    def _check(self) -> None:
        for option, path in (("ca", self.ca), ("cert", self.certificate), ("key", self.key)):
            try:
                path.read_bytes()
            except OSError as error:
                raise LockwrightError(
                    f"{path}: {error.strerror}", f"name a PEM file with --tls-{option}"
                ) from error
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except ssl.SSLError as error:
            raise LockwrightError(
                f"{self.ca} has no certificate", "name a PEM file with --tls-ca"
            ) from error
        try:
            # Without a password OpenSSL would ask for one at the terminal.
            context.load_cert_chain(self.certificate, self.key, password="")
        except ssl.SSLError as error:
            raise LockwrightError(
                f"{self.key} is not the unencrypted key of the certificate {self.certificate}",
                "name a certificate with --tls-cert and its key with --tls-key",
            ) from error


def certificates(
    ca: Path | None, certificate: Path | None, key: Path | None
) -> Certificates | None:
    """Return the certificates of the three options; None if none is given.

    Raises LockwrightError if some are missing.
    """
    if ca is None and certificate is None and key is None:
        return None
    if ca is None or certificate is None or key is None:
        raise LockwrightError(
            "TLS needs an authority, a certificate and a key",
            "give all of --tls-ca, --tls-cert and --tls-key",
        )
    return Certificates(ca, certificate, key)


def address_with_scheme(address: str, chosen: Certificates | None) -> str:
    """Return the scheduler's address; with certificates it begins with tls://.

    Raises LockwrightError if the address has another scheme, or tls:// without certificates.
    """
    if chosen is None:
        if address.startswith(_SCHEME):
            raise LockwrightError(
                f"{address} needs certificates", "add --tls-ca, --tls-cert and --tls-key"
            )
        return address
    if "://" not in address:
        return _SCHEME + address
    if not address.startswith(_SCHEME):
        raise LockwrightError(
            f"{address} is not encrypted", f"begin the address with {_SCHEME}, or give no --tls-ca"
        )
    return address
