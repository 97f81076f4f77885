"""Login by client certificate: TLS has verified it, and its common name is the user."""

from gossamer.broker.policy import Verdict
from gossamer.net.auth.backend import Attempt, Backend, refusal
from gossamer.wire.reasons import SUCCESS


class CertificateBackend(Backend):
    name = "certificate"
    is_slow = False

    def check(self, attempt: Attempt) -> Verdict | None:
        if not attempt.certificate_user:
            return None
        if attempt.user and attempt.user != attempt.certificate_user:
            return refusal("the user name is not the certificate's")
        return Verdict(SUCCESS, attempt.certificate_user)
