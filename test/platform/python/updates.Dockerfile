# Built for each release of the platform, and updated with it: svc-updater, the version, and the settings of the product.
ARG UPDATER
FROM ${UPDATER}
ARG VERSION
COPY serve.yaml /etc/larder/serve.yaml
ENV SVC_SERVE_FILE=/etc/larder/serve.yaml SVC_SERVE_VERSION=${VERSION}
LABEL org.opencontainers.image.version=${VERSION}
CMD ["serve"]
