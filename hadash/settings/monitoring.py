"""Health and metrics."""

from __future__ import annotations

import os

from hadash.settings.environment import networks, number, secret

#: Where workers and beat serve /healthz, /readyz and /metrics: host:port, one for each process of a machine; empty:
#: nowhere. (The web server serves them at its own address, each Gateway at its HADASH_GATEWAY_ADMIN_PORT.)
HEALTH_ADDRESS = os.environ.get("HADASH_HEALTH_ADDRESS", "").strip()
#: Seconds that a health page waits for the servers that it asks, and /metrics for those that it reads from. Probes
#: give up after a second or a few (Kubernetes after one); a server that has not answered by then is not healthy.
HEALTH_SECONDS = number("HADASH_HEALTH_SECONDS", 0.7)
METRICS_SECONDS = number("HADASH_METRICS_SECONDS", 0.9)
#: Seconds without progress after which /healthz reports a process as stuck: a worker with free threads starts no
#: waiting task, or beat sends none. Three times as long as a restart of Redis takes.
HEALTH_STUCK_SECONDS = number("HADASH_HEALTH_STUCK_SECONDS", 120)
#: The token that opens /metrics of the web server and the whole of /readyz ("Authorization: Bearer …"), and the
#: networks from which no token is needed. When neither is set, nobody may read them: behind a proxy that hides the
#: client's address, every request would come from this machine.
METRICS_TOKEN = secret("HADASH_METRICS_TOKEN")
METRICS_NETWORKS = networks("HADASH_METRICS_NETWORKS")
