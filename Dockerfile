# The container image: docs/image.md says what is in it, and how its base is pinned.
#
# At release a digest goes with the name: --build-arg BASE_IMAGE=python:3.13-slim-bookworm@sha256:...
ARG BASE_IMAGE=python:3.13-slim-bookworm

# --- What builds: the wheel, and a virtual environment with it and its pinned dependencies. Nothing else leaves this stage.
FROM ${BASE_IMAGE} AS build
# A mirror to install from, where the usual index cannot be reached.
ARG PIP_INDEX_URL
# The time of everything that carries one; `make image` gives that of the last commit.
ARG SOURCE_DATE_EPOCH=0
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONHASHSEED=0
WORKDIR /src
COPY requirements/build.txt requirements/image.txt requirements/
# Neither environment has a pip of its own: that of the base image installs into them.
RUN python3 -m venv --without-pip /build \
 && python3 -m pip --python /build/bin/python install --quiet --no-compile --require-hashes --only-binary :all: \
      --requirement requirements/build.txt
RUN python3 -m venv --without-pip /opt/kuberay-advisor \
 && python3 -m pip --python /opt/kuberay-advisor/bin/python install --quiet --no-compile --require-hashes \
      --only-binary :all: --requirement requirements/image.txt
COPY pyproject.toml LICENSE NOTICE ./
COPY advisor advisor
RUN /build/bin/python -m build --no-isolation --wheel --outdir /wheel . \
 && python3 -m pip --python /opt/kuberay-advisor/bin/python install --quiet --no-compile --no-deps --no-index \
      /wheel/*.whl
# Byte code for a root that is read-only. It names the hash of its source and no time, and is believed unchecked.
RUN /opt/kuberay-advisor/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/kuberay-advisor/lib
ARG VERSION=
# A label that says another version than the program does is a mistake.
RUN test -z "$VERSION" || test "$(/opt/kuberay-advisor/bin/kuberay-advisor --version)" = "kuberay-advisor, version $VERSION"

# --- What runs.
FROM ${BASE_IMAGE}
ARG BASE_IMAGE
ARG VERSION=
ARG REVISION=
ARG SOURCE=
LABEL org.opencontainers.image.title="kuberay-advisor" \
      org.opencontainers.image.description="Advises on concurrency, QPS and burst of the KubeRay operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
ENV LANG=C.UTF-8 TZ=UTC PATH=/opt/kuberay-advisor/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# No installer; byte code of the standard library, which the base image is without. The history of `serve` belongs to the
# user below, and to group 0, in which OpenShift puts the users that it chooses.
RUN rm -rf /usr/local/bin/pip* /usr/local/bin/idle* /usr/local/lib/python3.*/ensurepip \
      /usr/local/lib/python3.*/site-packages/pip /usr/local/lib/python3.*/site-packages/pip-*.dist-info \
 && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash \
      -x '/(test|tests|idlelib|tkinter|turtledemo|lib2to3|site-packages)/' "$(python3 -c 'import os; print(os.path.dirname(os.__file__))')" \
 && install -d -m 0770 -o 65532 -g 0 /var/lib/kuberay-advisor \
 && echo 'kuberay-advisor:x:65532:65532::/var/lib/kuberay-advisor:/usr/sbin/nologin' >> /etc/passwd
COPY --from=build /opt/kuberay-advisor /opt/kuberay-advisor
WORKDIR /var/lib/kuberay-advisor
# The user of KubeRay's own operator image, so that a sidecar may read the log file, whose mode is 0600.
USER 65532:65532
STOPSIGNAL SIGTERM
# No HEALTHCHECK: Kubernetes does not read it, the chart has probes.
ENTRYPOINT ["/opt/kuberay-advisor/bin/kuberay-advisor"]
CMD ["--help"]
