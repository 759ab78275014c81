// Replaces files of a directory and rolls the replacement back, like an update: share.ts kept|refused|told DIRECTORY.
// Exits with 0 if the result matches docs/contract.md 5.1: attributes are preserved, nothing is changed, or a warning
// is printed first.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { diskFileSystem } from '../../src/core/files/file-system.ts';
import { checkReplacementPermissions } from '../../src/core/files/transaction/check-replaceable-files.ts';
import { replaceFiles, restoreFiles } from '../../src/core/files/transaction/replace-files.ts';
import { Log } from '../../src/updater/run/log/run-log.ts';
import { takeLock } from '../../src/updater/run/state/lock.ts';
import { backupDirectoryOf } from '../../src/updater/run/state/state-directory.ts';
import { container, engine } from '../build.ts';

const [expected, directory = ''] = process.argv.slice(2);
const run = '20261121T104207Z';
const names = (await readdir(directory)).filter((name) => !name.startsWith('.'));
assert.equal(names.length, 6);

const lines: string[] = [];
const log = new Log(({ message }) => lines.push(message));
const lock = await takeLock({ engine: engine(), log }, container('updater'), directory);
for (const name of names) {
  const path = join(directory, name);
  const seen = async () => {
    const rights = await diskFileSystem.readPermissions(path).catch((error: Error) => error.message);
    return { rights, text: await readFile(path, 'utf8').catch(() => null) };
  };
  const before = await seen();
  const after = `new ${name}\n`;
  const replace = async () => {
    const warnings = await checkReplacementPermissions([path]);
    const change = { path, before: before.text ?? '', after };
    return {
      warnings,
      records: await replaceFiles([change], {
        runId: run,
        backupDirectory: join(backupDirectoryOf(directory), run),
      }),
    };
  };
  if (expected === 'refused') {
    await assert.rejects(replace(), { code: 'rights-lost' });
  } else {
    const { warnings, records } = await replace();
    assert.equal(
      warnings.some((each) => each.includes(' is on SMB, ')),
      expected === 'told',
    );
    assert.deepEqual(await seen(), { ...before, text: after });
    await restoreFiles(records);
  }
  assert.deepEqual(await seen(), before, name);
}
assert.equal(
  lines.some((line) => line.includes('keeps no owners and no modes')),
  expected === 'told',
);
await lock.release();
assert.deepEqual(
  (await readdir(directory)).filter((name) => !name.startsWith('.')),
  names,
);
