# The updater: the engine's own command-line image with Node and one bundled file in it, and with what the updater never
# calls taken out. scripts/image builds it, dist/agent.mjs first.
#
# Several platforms need no emulation: only the first stage below that has RUN lines runs anything, and it runs programs
# of the building machine on files of the target.

# A release is built on digests, which scripts/bases writes here (scripts/image --release refuses tags alone): even full
# version tags of these two are rebuilt with other contents.
ARG CLI_IMAGE=docker:29-cli
ARG NODE_IMAGE=node:24-alpine

FROM ${CLI_IMAGE} AS cli
FROM ${NODE_IMAGE} AS node

FROM --platform=$BUILDPLATFORM ${CLI_IMAGE} AS trim
COPY --from=cli / /image/
# Through apk where it is there, because it knows which libraries nothing else needs, and keeps its list true for
# scanners. It runs none of the packages' scripts: they would be the target's.
RUN if command -v apk >/dev/null; then \
      apk --root /image --no-network del --no-scripts git openssh-client \
      || echo 'apk could not remove the packages; their programs go by name, libraries stay'; \
    fi
# Access-control lists and extended attributes of the files that an update writes: Node has no calls for them, and a file
# that loses its list may let its whole group in. Restore points are copied by rsync. GNU's tar computes their hashes,
# because busybox's omits lists and attributes. The packages are the target's, by /image/etc/apk.
RUN if command -v apk >/dev/null; then apk --root /image --no-cache add --no-scripts attr tar acl rsync; fi
RUN rm -rf \
      /image/usr/local/libexec/docker/cli-plugins/docker-buildx \
      /image/usr/local/bin/docker-buildx \
      /image/usr/local/bin/docker-entrypoint.sh \
      /image/usr/local/bin/dockerd-entrypoint.sh \
      /image/usr/local/bin/modprobe \
      /image/usr/bin/git /image/usr/bin/git-* /image/usr/bin/scalar \
      /image/usr/libexec/git-core /image/usr/share/git-core /image/usr/share/perl5 \
      /image/usr/bin/ssh /image/usr/bin/ssh-* /image/usr/bin/scp /image/usr/bin/sftp /image/usr/bin/findssl.sh \
      /image/usr/lib/ssh /image/etc/ssh \
      /image/certs /image/.dockerenv /image/var/cache/apk /image/var/log/apk.log \
    # The agent keeps temporary files there.
    && mkdir -p /image/tmp \
    && chmod 1777 /image/tmp \
    && test -x /image/usr/bin/getfattr \
    && test -x /image/usr/bin/setfattr \
    && test -x /image/usr/bin/setfacl \
    && test -x /image/usr/bin/rsync \
    # Busybox's is a link.
    && find /image/bin /image/usr/bin -name tar -type f -perm -100 | grep -q . \
    && test -x /image/usr/local/bin/docker \
    && test -x /image/usr/local/libexec/docker/cli-plugins/docker-compose

# What a run says of its programs; asking them there takes longer than all that the engine is asked meanwhile. Those that
# answer here are the building machine's, of the same image. Without an engine the docker command tells only its own, and
# fails.
RUN cli=$(docker version --format '"cli":"{{.Client.Version}}","api":"{{.Client.DefaultAPIVersion}}"' 2>/dev/null || true) \
    && compose=$(docker compose version --short) \
    && mkdir -p /image/usr/local/lib/svc-updater \
    && printf '{%s,"compose":"%s"}\n' "$cli" "$compose" >/image/usr/local/lib/svc-updater/programs.json \
    && grep -E '"cli":"[0-9.]+.*","api":"1[.][0-9]+","compose":"v?[0-9]' /image/usr/local/lib/svc-updater/programs.json

# From scratch, because an ENV of the base (DOCKER_VERSION, DOCKER_TLS_CERTDIR, …) would win over the same key of an
# instance's .env.
FROM scratch
COPY --from=trim /image/ /
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/lib/libstdc++.so.6 /usr/lib/libgcc_s.so.1 /usr/lib/
COPY dist/agent.mjs dist/agent-*.mjs dist/serve.mjs dist/tools.mjs dist/agent.licenses.txt /usr/local/lib/svc-updater/
COPY dist/web/index.mjs /usr/local/lib/svc-updater/elements.mjs

ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
USER root
STOPSIGNAL SIGTERM
# Not the base's: it would make `node …` a `docker node …`. Without the dashes Node takes an --env-file that stands
# behind the script for its own, and reads it into its environment.
ENTRYPOINT ["/usr/local/bin/node", "--", "/usr/local/lib/svc-updater/agent.mjs"]

ARG VERSION=0.0.0-dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="svc-updater" \
      org.opencontainers.image.description="Replaces the app and the worker of a running svc instance by a new release, or leaves it exactly as it was" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
