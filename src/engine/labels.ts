/**
 * Prefix of compose's labels. This file contains all labels that compose sets on containers and that OCI defines for
 * images.
 */
const compose = 'com.docker.compose';

/** Labels that compose sets on every container of a project. */
export const composeLabels = {
  project: `${compose}.project`,
  /** Absolute path, as seen by the compose process. */
  directory: `${compose}.project.working_dir`,
  /** Absolute paths, joined by commas in the order of `-f`. */
  files: `${compose}.project.config_files`,
  /** Set only if `--env-file` was passed. */
  envFiles: `${compose}.project.environment_file`,
  service: `${compose}.service`,
  number: `${compose}.container-number`,
  /** `True` or `False`. */
  oneOff: `${compose}.oneoff`,
  /**
   * Set on a container that runs a hook of a service; later versions of compose keep the container if the hook failed.
   */
  hook: `${compose}.hook`,
  /** Set on a container that replaces another. */
  replaces: `${compose}.replace`,
  /** Version of compose that created the container. */
  version: `${compose}.version`,
  /**
   * Image from which the container was created: its id up to compose 5.2, later mostly the digest of the platform's
   * manifest.
   */
  image: `${compose}.image`,
  /** Hash of the definition from which the object was created; also set on networks and volumes. */
  configHash: `${compose}.config-hash`,
} as const;

/** Labels of other programs that create containers on Podman. */
export const podmanLabels = {
  /** systemd unit, set by Quadlet or `podman generate systemd`. */
  unit: 'PODMAN_SYSTEMD_UNIT',
  /** Set by podman-compose, in addition to compose's own labels. */
  composeProject: 'io.podman.compose.project',
} as const;

/** Labels that Swarm sets on the containers of its tasks. */
export const swarmLabels = {
  service: 'com.docker.swarm.service.name',
  stack: 'com.docker.stack.namespace',
  /** Image in the stack file; set on a service. */
  image: 'com.docker.stack.image',
  serviceId: 'com.docker.swarm.service.id',
} as const;

/** Annotations from which an engine reads the name of an image when it loads an OCI layout. */
export const layoutAnnotations = {
  name: 'io.containerd.image.name',
  tag: 'org.opencontainers.image.ref.name',
} as const;

/** Version of an image, with or without a `v`. */
export const versionLabel = 'org.opencontainers.image.version';
export const imageLabels = 'org.opencontainers.image.';

/** Prefixes of labels for internal use by compose, or by an engine in a virtual machine. */
export const toolLabels = [`${compose}.`, 'desktop.docker.io/'] as const;
