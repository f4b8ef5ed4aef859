# The server as an image: the program, the libraries that it needs, and nothing else: no shell, no
# package manager. Build it from the top of the tree:
#
#   docker build -f docker/server.Dockerfile -t python-sandbox-server .
#
# BASE: what it is built on, any Debian or Ubuntu with bash whose packages are new enough.
# VERSION: what it calls itself.
# REVISION: what it was built from, which the sources alone do not say:
#   --build-arg REVISION="$(git describe --always --dirty)"
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
ENV DEBIAN_FRONTEND=noninteractive
WORKDIR /src
COPY docker/packages.sh docker/
RUN docker/packages.sh build server
COPY Makefile ./
COPY docker docker
COPY cmd cmd
COPY src src
ARG VERSION=0.1.0
ARG REVISION=unknown
RUN make -j"$(nproc)" VERSION="${VERSION}" REVISION="${REVISION}"
# The program, and each library at the place where the loader looks for it; libcurl is one that the
# program asks for itself. The certificates are for an engine behind TLS.
RUN mkdir -p /image/usr/bin /image/etc/ssl/certs \
    && strip -o /image/usr/bin/python-sandbox build/python-sandbox \
    && curl="$(ldconfig -p | sed -n 's/.*libcurl\.so\.4 .*=> //p' | head -n 1)" \
    && libraries="$(ldd build/python-sandbox "${curl}" | sed -n 's/.*[[:blank:]]\(\/[^ ]*\) (0x.*/\1/p')" \
    && cp -L --parents "${curl}" $(printf '%s\n' "${libraries}" | sort -u) /image \
    && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
    && echo 'python-sandbox:x:60599:60599::/:/sbin/nologin' >/image/etc/passwd \
    && echo 'python-sandbox:x:60599:' >/image/etc/group

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="python-sandbox" \
      org.opencontainers.image.description="MCP server that runs Python scripts in throwaway containers" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /image/ /
USER 60599:60599
HEALTHCHECK --interval=30s --timeout=10s --start-period=15s --retries=3 \
    CMD ["/usr/bin/python-sandbox", "health"]
ENTRYPOINT ["/usr/bin/python-sandbox"]
CMD ["serve"]
