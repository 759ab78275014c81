import { join } from 'node:path';
import { inject, onTestFinished, test } from 'vitest';

import { startInstance } from '../rig/instance.ts';
import { mountLoop } from '../rig/loop-disk.ts';
import { expectAttempt } from './support/attempt.ts';
import { alone } from './support/instance.ts';

test('plan and update are refused on exFAT before anything is changed', async () => {
  const host = inject('host');
  const disk = await mountLoop('exfat', join(host.directory, 'exfat'));
  onTestFinished(disk.unmount);
  const instance = await startInstance(host, { ...alone, folder: 'exfat', keepsNoOwners: true });
  onTestFinished(() => instance.dispose());
  for (const command of ['plan', 'update']) {
    await expectAttempt(instance, [command, '--target', 'v1.1.0'], {
      exitCode: 3,
      says: [
        `${instance.directory} is on a file system that does not store owners and modes, such as FAT or exFAT`,
      ],
      ends: [
        'refused (rights-lost): nothing was changed',
        'Move the instance to a directory on another file system',
      ],
    });
  }
});
