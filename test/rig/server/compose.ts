/** The parts of a compose file that differ for an app that is the server. Values are in `.env`. */
export const serverCompose = {
  volumes: [`\${SVC_SOCKET:-/var/run/docker.sock}:/var/run/docker.sock`],
  environment: {
    UPDATER_IMAGE: `\${UPDATER_IMAGE:?}`,
    UPDATER_NAME: `\${UPDATER_NAME:?}`,
    UPDATER_WAIT: `\${UPDATER_WAIT:-}`,
    FEED_URL: `\${FEED_URL:-}`,
    RESTORE_POINT: `\${RESTORE_POINT:-}`,
    REGISTRY_CREDENTIALS: `\${REGISTRY_CREDENTIALS:-}`,
    ENGINE: `\${ENGINE:-}`,
    UPDATER_SOCKET: `\${UPDATER_SOCKET:-}`,
  },
} as const;
