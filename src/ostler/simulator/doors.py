"""The *doors*: where the ports of the pretend cloud's instances are reached from outside.

With listeners on loopback (`doorway.py`) the addresses are real, and kept in the state file, so that what
runs is reached at the same address after a restart; without them they look like the vendor's, for tests that
never connect. Two troubles are in the address itself: a refused connection, and a TLS nobody trusts.
"""

from dataclasses import dataclass

from ostler.simulator.app import AppMood


@dataclass(frozen=True, slots=True)
class Doors:
    """The loopback addresses (`host:port`) of the listeners that answer for all instances."""

    http: str  # plays the applications
    tcp: str  # accepts, for TCP ports and SSH
    tls: str  # fails every TLS handshake
    refused: str  # nobody listens there

    def web_endpoint(self, instance_id: str, port: int, mood: AppMood) -> str:
        """Return where an HTTP port is reached; the path tells the instances apart."""
        path = f"/i/{instance_id}/{port}"
        match mood:
            case AppMood.TLS_FAILURE:
                return f"https://{self.tls}{path}"
            case AppMood.REFUSED:
                return f"http://{self.refused}{path}"
            case _:
                return f"http://{self.http}{path}"

    def tcp_endpoint(self, mood: AppMood) -> str:
        """Return where a TCP port is reached."""
        return self.refused if mood in {AppMood.REFUSED, AppMood.NEVER} else self.tcp


NO_DOORS = Doors("", "", "", "")


def vendor_web_endpoint(instance_id: str, port: int, cluster_id: str) -> str:
    """Return the address that the real cloud gives an HTTP port."""
    return f"https://{instance_id}-{port}.{cluster_id}.gpu-instance.novita.ai"


def vendor_proxy(cluster_id: str) -> str:
    """Return the host through which the real cloud gives TCP ports and SSH."""
    return f"proxy.{cluster_id}.gpu-instance.novita.ai"
