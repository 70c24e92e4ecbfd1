"""AWS Signature Version 4, for Amazon Managed Prometheus; botocore is imported when a request is signed."""

import importlib
import logging
import threading
from typing import Any, Final

from advisor.errors import SettingsError, StoreAccessError

__all__ = ["Signer"]

_HINT: Final = "pip install 'kuberay-advisor[aws]'"


class Signer:
    """Signs requests with credentials that botocore finds: environment, profile, role of the Pod or machine.

    Args:
        region: such as eu-west-1.
        service: the name of the service, ``aps`` for Amazon Managed Prometheus.
        profile: the profile in AWS's own files; None for the usual one.
    """

    def __init__(self, region: str, service: str = "aps", profile: str | None = None) -> None:
        self._region = region
        self._service = service
        self._profile = profile
        self._lock = threading.Lock()
        self._credentials: Any = None
        self.origin = f"of the profile {profile}" if profile else "of AWS's usual credentials"

    def headers(self, method: str, url: str, body: bytes | None) -> dict[str, str]:
        """The headers that sign a request: only host and date are signed, so that a proxy may add others.

        Raises:
            SettingsError: botocore is not installed, or there is no such profile.
            StoreAccessError: there are no credentials.
        """
        auth = _module("botocore.auth")
        request = _module("botocore.awsrequest").AWSRequest(method=method, url=url, data=body)
        auth.SigV4Auth(self._frozen(), self._service, self._region).add_auth(request)
        return {str(name): str(value) for name, value in request.headers.items()}

    def renew(self) -> None:
        """Look for credentials anew the next time."""
        with self._lock:
            self._credentials = None

    def _frozen(self) -> Any:  # noqa: ANN401 - botocore has no types
        failure = ""
        try:
            with self._lock:
                if self._credentials is None:
                    self._credentials = _module("botocore.session").Session(profile=self._profile).get_credentials()
                found = self._credentials
            frozen = None if found is None else found.get_frozen_credentials()
        except _module("botocore.exceptions").BotoCoreError as error:
            failure, frozen = type(error).__name__, None
        if failure == "ProfileNotFound":
            raise SettingsError(
                f"AWS has no profile {self._profile}", hint="aws configure list-profiles shows those there are"
            )
        if frozen is None:
            raise StoreAccessError(
                f"no AWS credentials were found{f' ({failure})' if failure else ''}",
                hint="set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the Pod a role",
            )
        return frozen


def _module(name: str) -> Any:  # noqa: ANN401 - botocore has no types
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise SettingsError("signing for AWS needs botocore, which is not installed", hint=_HINT) from error
    # Its debug log holds session tokens, and answers with new credentials in them.
    logging.getLogger("botocore").setLevel(logging.INFO)
    return module
