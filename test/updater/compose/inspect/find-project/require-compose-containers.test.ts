import { describe, expect, it } from 'vitest';
import type { UpdateError } from '../../../../../src/core/errors/update-error.ts';
import {
  requireComposeContainers,
  requireTestedPodman,
} from '../../../../../src/updater/compose/inspect/find-project/require-compose-containers.ts';

function refused(labels: Record<string, string>): UpdateError {
  try {
    requireComposeContainers([
      { name: 'svc-db-1', labels: {} },
      { name: 'svc-app-1', labels },
    ]);
  } catch (error) {
    return error as UpdateError;
  }
  throw new Error('nothing was refused');
}

describe('a container of the project', () => {
  it('is rejected if systemd manages it, with the two commands for a manual update', () => {
    const { code, message, detail } = refused({ PODMAN_SYSTEMD_UNIT: 'svc.service' });
    expect([code, message]).toEqual([
      'not-compose',
      'svc-app-1 is managed by systemd (svc.service), not by docker compose',
    ]);
    expect(detail).toEqual([
      "sed -i 's|^Image=.*|Image=REPOSITORY:VERSION|' /etc/containers/systemd/svc.container",
      'systemctl daemon-reload && systemctl restart svc.service',
    ]);
  });

  it('is rejected if podman-compose created it', () => {
    const { code, message } = refused({ 'io.podman.compose.project': 'svc' });
    expect([code, message]).toEqual([
      'not-compose',
      'svc-app-1 was created by podman-compose, not by docker compose',
    ]);
  });

  it('is rejected if docker-compose 1 created it, with the command that recreates it', () => {
    const { code, message, advice } = refused({
      'com.docker.compose.project': 'svc',
      'com.docker.compose.version': '1.29.2',
    });
    expect([code, message]).toEqual([
      'not-compose',
      'svc-app-1 of project svc was created by docker-compose v1',
    ]);
    expect(advice).toBe('Run docker compose -p svc up -d once, then run {command} again.');
  });

  it('has its label quoted in the commands', () => {
    const { detail } = refused({ PODMAN_SYSTEMD_UNIT: "x'; touch /oh; '.service" });
    const quoted = "'x'\\''; touch /oh; '\\''";
    expect(detail[1]).toBe(`systemctl daemon-reload && systemctl restart ${quoted}.service'`);
  });

  it('is accepted if docker compose created it', () => {
    const labels = { 'com.docker.compose.version': '2.26.1-4' };
    expect(() => requireComposeContainers([{ name: 'svc-app-1', labels }])).not.toThrow();
  });
});

it.each([
  [true, 'rootless', 'engine-version'],
  [true, 'remapped', null],
  [true, null, null],
  [false, 'rootless', null],
] as const)('requireTestedPodman with Podman %s and users %s: %s', (isPodman, users, code) => {
  const refuse = () => requireTestedPodman({ isPodman }, users);
  if (code === null) expect(refuse).not.toThrow();
  else expect(refuse).toThrow(expect.objectContaining({ code }));
});
