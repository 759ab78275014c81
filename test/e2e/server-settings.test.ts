import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { settingValuesPath } from '../../src/core/release/release-settings.ts';
import { EngineApi } from '../../src/engine/engine-api.ts';
import { buildSettingsArchive } from '../../src/server/run/launch/launch-updater.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { removeContainer } from './support/server.ts';

test('only root in the container of an updater can read the values for new settings', async () => {
  const engine = new EngineApi(engineSocket);
  const name = `svc-updater-settings-${process.pid}`;
  onTestFinished(() => removeContainer(name));
  const id = await engine.createContainer({
    name,
    Image: updaterImage,
    ...{ Entrypoint: ['sh', '-c'] },
    Cmd: [`stat -c '%a %u %g' "$0"; cat "$0"`, settingValuesPath],
    HostConfig: { NetworkMode: 'none', CapDrop: ['ALL'], UsernsMode: 'host' },
  });
  const values = { SMTP_PASSWORD: 'hunter2 "ü" $HOME', SMTP_HOST: 'mail' };
  await engine.putArchive(id, buildSettingsArchive(values));
  const { stdout } = await execa('docker', ['inspect', id]);
  expect(stdout).not.toContain('hunter2');
  await engine.startContainer(id);
  const lines: string[] = [];
  for await (const line of engine.followLog(id, AbortSignal.timeout(60_000))) lines.push(line);
  expect(lines).toEqual(['600 0 0', `SMTP_PASSWORD='hunter2 "ü" $HOME'`, `SMTP_HOST='mail'`]);
});
