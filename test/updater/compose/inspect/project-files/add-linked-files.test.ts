import { describe, expect, it } from 'vitest';
import { addLinkedFiles } from '../../../../../src/updater/compose/inspect/project-files/add-linked-files.ts';

describe('addLinkedFiles', () => {
  it('calls the callback for each file before the file is parsed', async () => {
    const texts: Record<string, string> = {
      '/opt/svc/part.yaml': 'services: {a: {extends: {file: base.yaml, service: a}}}',
      '/opt/svc/base.yaml': 'password: [hunter2',
      '/opt/svc/part.env': 'A=1\n',
    };
    const include = '{path: part.yaml, env_file: part.env}';
    const files = {
      composeFiles: [{ path: '/opt/svc/compose.yaml', text: `include: [${include}]\nservices: {}\n` }],
      envFiles: [{ path: '/opt/svc/.env', text: '' }],
      newEnvFile: '/opt/svc/.env',
    };
    const told: string[] = [];
    const linked = addLinkedFiles(
      files,
      async ({ path }) => ({ path, text: texts[path] ?? '' }),
      async ({ composeFiles, envFiles }) => {
        told.push(`${composeFiles.map(({ path }) => path)} ${envFiles.map(({ path }) => path)}`);
      },
    );
    await expect(linked).rejects.toThrow('base.yaml');
    expect(told).toEqual(['/opt/svc/part.yaml ', ' /opt/svc/part.env', '/opt/svc/base.yaml ']);
  });
});
