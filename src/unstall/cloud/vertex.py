"""A custom job of Vertex AI, made of the types of Google's own client library, and sent by it.

The thin generated client (`google.cloud.aiplatform_v1`) is taken, not the SDK above it, which loads the clients of other
services and keeps state. Over REST: a proxy or a private endpoint need nothing more, and no thread of gRPC is left behind.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from unstall.base.errors import AccessDeniedError, InvalidInputError, UnstallError
from unstall.cloud.job import COMMAND, Job
from unstall.storage.retry import SIGN_IN
from unstall.training.distributed.engines.vertex import WORKERS_EACH

ANSWERS_WITHIN_S = 60.0


class NotSent(UnstallError):
    """The service did not take the job, for a reason that is not the user's."""


def name_parent(job: Job) -> str:
    return f"projects/{job.project}/locations/{job.region}"


def build_custom_job(job: Job) -> Any:
    """A `CustomJob`: the first pool is the one machine that leads, the second the others."""
    from google.cloud.aiplatform_v1 import types

    rest = job.machines - 1
    pools = [_pool(job, 1), *([_pool(job, rest)] if rest else [])]
    scheduling = types.Scheduling(
        strategy=types.Scheduling.Strategy.SPOT if job.is_spot else types.Scheduling.Strategy.STANDARD,
        restart_job_on_worker_restart=job.machines > 1,  # workers that are alone go on from the checkpoint by themselves
    )
    if job.hours is not None:
        scheduling.timeout = timedelta(hours=job.hours)
    spec = types.CustomJobSpec(
        worker_pool_specs=pools,
        scheduling=scheduling,
        service_account=job.service_account,
        base_output_directory=types.GcsDestination(output_uri_prefix=job.out),
    )
    return types.CustomJob(display_name=job.name, job_spec=spec, labels={"made-by": "unstall"})


def _pool(job: Job, replicas: int) -> Any:
    from google.cloud.aiplatform_v1 import types

    assert job.machine is not None
    machine = types.MachineSpec(machine_type=job.machine.name)
    if job.machine.cards:
        machine.accelerator_type = _accelerator(job.machine.accelerator or "")
        machine.accelerator_count = job.machine.cards
    each = {WORKERS_EACH: str(job.workers_each)} if job.workers_each > 1 else {}
    container = types.ContainerSpec(
        image_uri=job.image,
        command=list(COMMAND),
        args=list(job.arguments),
        env=[types.EnvVar(name=name, value=value) for name, value in each.items()],
    )
    disk = types.DiskSpec(boot_disk_type=job.disk_type, boot_disk_size_gb=job.disk_gb)
    return types.WorkerPoolSpec(machine_spec=machine, replica_count=replicas, disk_spec=disk, container_spec=container)


def _accelerator(name: str) -> Any:
    from google.cloud.aiplatform_v1 import types

    known = [each.name for each in types.AcceleratorType if each.value]
    if name not in known:
        raise InvalidInputError(f"--accelerator: expected one of {', '.join(known)}. Received: {name!r}")
    return types.AcceleratorType[name]


def as_plain(made: Any) -> dict[str, Any]:
    """As the service's REST interface has it: the names that its documentation uses."""
    from google.protobuf import json_format

    plain: dict[str, Any] = json_format.MessageToDict(type(made).pb(made))
    return plain


def send_job(job: Job, made: Any, endpoint: str | None = None) -> dict[str, Any]:
    """Its name and state. `endpoint`: another address of the service, a private one say."""
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError
    from google.cloud.aiplatform_v1.services.job_service import JobServiceClient

    address = endpoint or f"{job.region}-aiplatform.googleapis.com"
    try:
        client = JobServiceClient(transport="rest", client_options={"api_endpoint": address})
        answer = client.create_custom_job(parent=name_parent(job), custom_job=made, timeout=ANSWERS_WITHIN_S, retry=None)
    except GoogleAuthError as error:
        raise AccessDeniedError(
            f"Vertex AI: there are no credentials that hold ({_short(error)}). Sign in: {SIGN_IN['gs']}"
        ) from None
    except (exceptions.PermissionDenied, exceptions.Unauthenticated, exceptions.Forbidden, exceptions.Unauthorized) as error:
        role = "the account needs the role roles/aiplatform.user, and actAs on the service account of the job"
        raise AccessDeniedError(f"Vertex AI refuses ({_short(error)}): {role}.") from None
    except (exceptions.InvalidArgument, exceptions.NotFound, exceptions.FailedPrecondition, exceptions.BadRequest) as error:
        raise InvalidInputError(f"Vertex AI does not take the job: {_short(error)}.") from None
    except exceptions.GoogleAPIError as error:
        raise NotSent(
            f"Vertex AI ({address}) did not take the job: {_short(error)}. Nothing was tried again: it may be there."
        ) from None
    except OSError as error:
        raise NotSent(f"Vertex AI ({address}) cannot be reached: {_short(error)}.") from None
    return {"job": answer.name, "state": answer.state.name}


def build_console_url(job: Job, name: str) -> str:
    return f"https://console.cloud.google.com/vertex-ai/training/{job.region}/{name.rpartition('/')[2]}?project={job.project}"


def _short(error: Exception) -> str:
    lines = (str(error).strip() or type(error).__name__).splitlines()
    return lines[0][:300].rstrip(".")
