# The image behind both actions and behind `docker run`. Targets: `core` (the default) has no
# harness and builds environments on demand; `full` has the newest harness and the oldest that
# is supported baked in, for use without a network.
# The processes run as root: the jail needs it to give each job another user id.
ARG BASE_IMAGE=python:3.13-slim

FROM ${BASE_IMAGE} AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
# Without pip of its own: nothing is ever installed into the verifier's environment again.
RUN python3 -m venv --without-pip /opt/verify-ext/.venv \
    && pip --python /opt/verify-ext/.venv/bin/python install --no-cache-dir --disable-pip-version-check /source \
    # Of the image and XML libraries what is never used: AVIF, fonts, typed XML objects, HTML, headers.
    && cd /opt/verify-ext/.venv/lib/python3*/site-packages \
    && rm -rf lxml/includes lxml/isoschematron lxml/html lxml/objectify.* \
        PIL/_avif.* pillow.libs/libavif-* PIL/_imagingft.* pillow.libs/libfreetype-* pillow.libs/libharfbuzz-*
COPY --chmod=755 entrypoint /opt/verify-ext/
COPY --chmod=755 docker/action.sh /opt/verify-ext/docker/

FROM ${BASE_IMAGE} AS installed
# In a container the workspace belongs to another user, and git refuses such a repository.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt/* /var/log/dpkg.log \
    && git config --system --add safe.directory '*'
COPY --from=build /opt/verify-ext /opt/verify-ext
# No HOME is assumed: the container may run as any user, on a read-only file system with a /tmp.
ENV PATH=/opt/verify-ext/.venv/bin:${PATH} \
    UV_CACHE_DIR=/tmp/verify-ext-downloads \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    VERIFY_EXT_CACHE=/var/cache/verify-ext
RUN mkdir -p /github/workspace "${VERIFY_EXT_CACHE}"
WORKDIR /github/workspace
ENTRYPOINT ["/opt/verify-ext/entrypoint"]
LABEL org.opencontainers.image.title="verify-ext" \
      org.opencontainers.image.description="Proves that agent extensions load and work in the real harness" \
      org.opencontainers.image.licenses="Apache-2.0"

FROM installed AS full
ARG HARNESSES="openjiuwen==0.1.19.post2 openjiuwen==0.1.16"
RUN set -- && for harness in ${HARNESSES}; do set -- "$@" --harness "${harness}"; done \
    && verify-ext prepare "$@" \
    && rm -rf "${UV_CACHE_DIR}"
LABEL verify-ext.harnesses="${HARNESSES}"

FROM installed AS core
