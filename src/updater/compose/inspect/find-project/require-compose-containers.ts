import { quoteForShell } from '../../../../core/errors/advice.ts';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import type { Engine } from '../../../../engine/cli/engine.ts';
import type { Container } from '../../../../engine/objects/container.ts';
import { composeLabels, podmanLabels } from '../../../../engine/objects/labels.ts';
import { readUserMapping } from '../../../../engine/self/user-mapping.ts';

/** Rejects rootless Podman, which is untested (docs/contract.md 12.5). @throws UpdateError engine-version */
export function requireTestedPodman(engine: Pick<Engine, 'isPodman'>, users = readUserMapping()): void {
  if (!engine.isPodman || users !== 'rootless') return;
  throw new UpdateError('engine-version', 'updates are not supported on rootless Podman', {
    advice: 'Use rootful Podman, or change the version manually and run {compose} pull && {up}.',
  });
}

/**
 * Rejects containers of podman-compose, systemd and docker-compose 1. Compose would revert some settings of the first
 * two (docs/contract.md 12.6). Paths in labels of docker-compose 1 depend on its working directory (docs/contract.md
 * 2.3).
 * @throws UpdateError not-compose
 */
export function requireComposeContainers(containers: readonly Pick<Container, 'name' | 'labels'>[]): void {
  for (const { name, labels } of containers) {
    const unit = labels[podmanLabels.unit];
    if (unit) throw createSystemdError(name, unit);
    if (labels[composeLabels.version]?.startsWith('1.')) {
      const project = labels[composeLabels.project];
      throw new UpdateError('not-compose', `${name} of project ${project} was created by docker-compose v1`, {
        advice: `Run docker compose -p ${project} up -d once, then run {command} again.`,
      });
    }
    if (labels[podmanLabels.composeProject] === undefined) continue;
    throw new UpdateError('not-compose', `${name} was created by podman-compose, not by docker compose`, {
      advice: 'Set the new version in the file, then run podman-compose pull && podman-compose up -d.',
    });
  }
}

/**
 * Returns a more specific error if no project was found but systemd manages a container. Returns other errors
 * unchanged.
 */
export async function explainMissingProject(engine: Engine, error: unknown): Promise<unknown> {
  if (!engine.isPodman || !(error instanceof UpdateError)) return error;
  if (error.code !== 'not-compose' && error.code !== 'not-mounted') return error;
  const [kept] = await engine.listContainers({ label: [podmanLabels.unit] });
  return kept === undefined ? error : createSystemdError(kept.name, kept.labels[podmanLabels.unit] ?? '');
}

function createSystemdError(name: string, unit: string): UpdateError {
  const file = `/etc/containers/systemd/${unit.replace(/\.service$/, '')}.container`;
  return new UpdateError('not-compose', `${name} is managed by systemd (${unit}), not by docker compose`, {
    detail: [
      // The label is untrusted and becomes part of a command, so it is quoted.
      `sed -i 's|^Image=.*|Image=REPOSITORY:VERSION|' ${quoteForShell(file)}`,
      `systemctl daemon-reload && systemctl restart ${quoteForShell(unit)}`,
    ],
    advice:
      'The commands above update a Quadlet. For rootless Podman, use the file in ~/.config/containers/systemd and systemctl --user.',
  });
}
