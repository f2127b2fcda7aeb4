"""Which secret signs for which endpoint. Rows keep secrets sealed; they are opened to sign and to be shown.

In this order: the endpoint's own, `WEBHOOK_SECRET`, the one that was made with this installation.
"""

from dataclasses import dataclass

from pydantic import SecretStr

from ostler.store.sealing import Sealer
from ostler.store.webhook_endpoints import EndpointRow


@dataclass(frozen=True, slots=True)
class Keyring:
    """Opens and closes secrets; `configured` is WEBHOOK_SECRET."""

    sealer: Sealer
    configured: SecretStr | None = None

    def sealed(self, secret: SecretStr) -> bytes:
        """Return a secret as rows keep it."""
        return self.sealer.seal(secret.get_secret_value().encode())

    def opened(self, sealed: bytes) -> SecretStr:
        """Return a secret that a row keeps; raise SealBroken when the installation's key is another one."""
        return SecretStr(self.sealer.open(sealed).decode())

    def secret_of(self, endpoint: EndpointRow, default: EndpointRow) -> SecretStr:
        """Return the secret that signs for an endpoint."""
        if endpoint.secret is not None and endpoint.id != default.id:
            return self.opened(endpoint.secret)
        return self.shared(default)

    def shared(self, default: EndpointRow) -> SecretStr:
        """Return the secret of all endpoints that have none of their own."""
        if self.configured is not None:
            return self.configured
        assert default.secret is not None, "the default endpoint is made with a secret"
        return self.opened(default.secret)
