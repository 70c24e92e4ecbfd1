"""etcd and an API server that knows the Ray kinds, and nothing else: for tests of what clients may do and see."""

from typing import Final

import httpx

from tests.lab.controlplane import OPERATOR_NAMESPACE, ControlPlane

__all__ = ["API_ONLY", "ApiOnly"]

API_ONLY: Final = ("etcd", "kube-apiserver", "crds")
"""What it needs of the toolbox."""


class ApiOnly(ControlPlane):
    """Nothing reacts to anything."""

    def up(self) -> None:
        """Start both."""
        self._write_files()
        self._start("etcd", *self._etcd())
        self._start("kube-apiserver", *self._api_server())
        self._wait("the API server", self.cluster.is_up)
        self._install()
        self._wait("the Ray kinds", self._kinds_are_served)

    def compact(self) -> None:
        """Let etcd forget all versions but the last."""
        etcd = f"http://127.0.0.1:{self._ports.etcd}/v3/kv"
        status = httpx.post(f"{etcd}/range", json={"key": "AA=="}, trust_env=False).json()
        revision = status["header"]["revision"]
        answer = httpx.post(f"{etcd}/compaction", json={"revision": revision, "physical": True}, trust_env=False)
        assert answer.is_success, answer.text

    def token(self, account: str) -> str:
        """A token of a service account of the operator's namespace."""
        return self.cluster.token(OPERATOR_NAMESPACE, account)
