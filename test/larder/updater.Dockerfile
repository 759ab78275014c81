FROM ghcr.io/acme/svc-updater:1.0.0
ENV SVC_UPDATER_PRODUCT='{"name":"larder","services":["web","jobs"]}'
