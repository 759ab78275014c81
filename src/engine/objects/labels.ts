/** Prefix of compose's labels. This file defines all compose and OCI labels that the product uses. */
const compose = 'com.docker.compose';

/** Labels that compose sets on every container of a project. */
export const composeLabels = {
  project: `${compose}.project`,
  /** Absolute path of the project directory, as seen by the compose process. */
  directory: `${compose}.project.working_dir`,
  /** Absolute paths of the compose files in the order of `-f`, separated by commas. */
  files: `${compose}.project.config_files`,
  /** Env files of the project; set only if `--env-file` was passed. */
  envFiles: `${compose}.project.environment_file`,
  service: `${compose}.service`,
  number: `${compose}.container-number`,
  /** `True` for a container of `docker compose run`, `False` for other containers. */
  oneOff: `${compose}.oneoff`,
  /** Set on a container that runs a service's hook. Newer versions of compose keep the container if the hook fails. */
  hook: `${compose}.hook`,
  /** Set on a container that replaces another container. */
  replaces: `${compose}.replace`,
  /** Version of compose that created the container. */
  version: `${compose}.version`,
  /** Image of the container: up to compose 5.2, the image's id; since 5.3, usually the digest of the manifest. */
  image: `${compose}.image`,
  /** Hash of the definition from which a container, network or volume was created. */
  configHash: `${compose}.config-hash`,
} as const;

/** Labels that other programs set when they create containers on Podman. */
export const podmanLabels = {
  /** Name of the systemd unit, set by Quadlet or `podman generate systemd`. */
  unit: 'PODMAN_SYSTEMD_UNIT',
  /** Name of the project; set by podman-compose in addition to compose's own labels. */
  composeProject: 'io.podman.compose.project',
} as const;

/** Labels that Swarm sets on the containers of its tasks. */
export const swarmLabels = {
  service: 'com.docker.swarm.service.name',
  stack: 'com.docker.stack.namespace',
  /** Image reference in the stack file; set only on a service. */
  image: 'com.docker.stack.image',
  serviceId: 'com.docker.swarm.service.id',
} as const;

/** Annotations with an image's name in an OCI layout. The engine reads the name when it loads the layout. */
export const ociLayoutAnnotations = {
  name: 'io.containerd.image.name',
  tag: 'org.opencontainers.image.ref.name',
} as const;

/** Label with the version of an image, with or without a leading `v`. */
export const versionLabel = 'org.opencontainers.image.version';
export const imageLabelPrefix = 'org.opencontainers.image.';

/** Prefixes of labels that compose and Docker Desktop set for their own use. */
export const internalLabelPrefixes = [`${compose}.`, 'desktop.docker.io/'] as const;

/** Label of the containers and networks of a rehearsal. The value is the rehearsal's token. */
export const rehearsalLabel = 'svc-updater.rehearsal';
