/** The names of all labels that compose sets on containers, and the OCI on images. */
const compose = 'com.docker.compose';

/** Labels that compose sets on every container of a project. */
export const composeLabels = {
  project: `${compose}.project`,
  /** Absolute, as the compose process saw it. */
  directory: `${compose}.project.working_dir`,
  /** Absolute and comma-joined, in the order of `-f`. */
  files: `${compose}.project.config_files`,
  /** Only where `--env-file` was given. */
  envFiles: `${compose}.project.environment_file`,
  service: `${compose}.service`,
  number: `${compose}.container-number`,
  /** `True` or `False`. */
  oneOff: `${compose}.oneoff`,
  /** On a container that runs a hook of a service, and that later versions keep where the hook failed. */
  hook: `${compose}.hook`,
  /** On a container that was made in another's place. */
  replaces: `${compose}.replace`,
  /** Of the compose that made the container. */
  version: `${compose}.version`,
  /** Of the image that it was made from: the id up to compose 5.2, later mostly the digest of the platform's manifest. */
  image: `${compose}.image`,
  /** Of the definition that it was made from: on networks and volumes, too. */
  configHash: `${compose}.config-hash`,
} as const;

/** Labels of other programs that create containers on Podman. */
export const podmanLabels = {
  /** systemd's unit, of a Quadlet or by `podman generate systemd`. */
  unit: 'PODMAN_SYSTEMD_UNIT',
  /** podman-compose, beside compose's own labels. */
  composeProject: 'io.podman.compose.project',
} as const;

/** Labels that Swarm sets on the containers of its tasks. */
export const swarmLabels = {
  service: 'com.docker.swarm.service.name',
  stack: 'com.docker.stack.namespace',
  /** On a service: the image as its stack file names it. */
  image: 'com.docker.stack.image',
  serviceId: 'com.docker.swarm.service.id',
} as const;

/** By which an engine learns the name of an image in an OCI layout that it loads. */
export const layoutAnnotations = {
  name: 'io.containerd.image.name',
  tag: 'org.opencontainers.image.ref.name',
} as const;

/** The version that an image says it is, with or without a `v`. */
export const versionLabel = 'org.opencontainers.image.version';
export const imageLabels = 'org.opencontainers.image.';

/** Beginnings of labels that compose, and an engine in a virtual machine, write for themselves. */
export const toolLabels = [`${compose}.`, 'desktop.docker.io/'] as const;
