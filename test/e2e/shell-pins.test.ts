import { beforeAll, describe, test } from 'vitest';
import { composeText } from '../rig/compose-text.ts';
import { expectAttempt, shareInstance } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone } from './support/instance.ts';

// A tag that was set only in the shell that started the instance, like Coolify does. The compose files specify another
// version.

const toNext = ['--target', 'v1.1.0'];
const runsOn = /^refused \(drift\): nothing was changed; v1\.0\.0 is still running\. Next: /;

describe('a version that was set only in the shell', () => {
  const shared = shareInstance({
    ...alone,
    shell: { LATEST_IMAGE: 'v1.0.0' },
    files: (c) => ({
      'compose.prod.yaml': composeText({ app: `${c.image}:\${LATEST_IMAGE:-latest}`, parts: c.parts }),
      'part/compose.yaml': 'services: {}\n',
      'part/.env': 'LATEST_IMAGE=v3.0.0\n',
      '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nEMPTY=\n`,
    }),
  });
  beforeAll(async () => {
    await shared().publish('latest', { version: '2.0.0' });
    await shared().publish('v0.9.0', { version: '0.9.0' });
  });

  test('refuses the update with a line for .env, and the update succeeds with that line', async () => {
    const instance = shared();
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: ['app: the files specify'],
      ends: [runsOn, 'Add LATEST_IMAGE=v1.0.0 to '],
    });
    await instance.write('.env', `${await instance.read('.env')}LATEST_IMAGE=v1.0.0\n`);
    const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
    await updateWell(instance, toNext, { version: 'v1.1.0', changed });
  });
});
