import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { docker, on } from '../rig/swarm.ts';
import { expectUntouched, snapshot } from '../rig/swarm-judge.ts';
import { onStack, svcImage } from '../rig/swarm-try.ts';

const small = { services: { app: { replicas: 1 } } };

describe.concurrent('the files of a stack', () => {
  test('get the new version in their pin, and a deploy of the files restarts nothing', () =>
    onStack(small, async ({ stack, updated }) => {
      const file = join(stack.directory, 'stack.yaml');
      const text = await readFile(file, 'utf8');
      await updated('1.5.0', { mount: stack.directory, args: ['--file', 'stack.yaml'] });
      expect(await readFile(file, 'utf8')).toBe(text.replaceAll(svcImage('1.4.2'), svcImage('1.5.0')));
      const before = await snapshot(stack);
      const tasks = await stack.tasks(`${stack.name}_app`, '{{.ID}}');
      await docker('n1', 'stack', 'deploy', '--detach=true', '-c', file, stack.name);
      await stack.runs();
      expect(await stack.tasks(`${stack.name}_app`, '{{.ID}}')).toEqual(tasks);
      expect((await snapshot(stack)).boots).toEqual(before.boots);
    }));

  test('must all be specified if the stack was deployed from two, and only the file with the image is edited', () =>
    onStack(small, async ({ stack, update }) => {
      const [file, over] = ['stack.yaml', 'over.yaml'].map((name) => join(stack.directory, name)) as [
        string,
        string,
      ];
      const more = `version: '3.8'\nservices:\n  app:\n    environment: { MORE: '1' }\n`;
      await writeFile(over, more);
      const deploy = () =>
        docker('n1', 'stack', 'deploy', '--detach=false', '-c', file, '-c', over, stack.name);
      await deploy();
      await stack.runs();
      const one = await update('1.5.0', { mount: stack.directory, args: ['--file', 'over.yaml'] });
      expect(one.last, one.log).toMatch(/ERROR done refused \(stack-file\): nothing was changed/);
      const both = ['--file', 'stack.yaml', '--file', 'over.yaml'];
      const { last, log } = await update('1.5.0', { mount: stack.directory, args: both });
      expect(last, log).toContain('done updated v1.4.2 → v1.5.0');
      expect(await readFile(file, 'utf8')).toContain(svcImage('1.5.0'));
      expect(await readFile(over, 'utf8')).toBe(more);
      const { boots } = await snapshot(stack);
      await deploy();
      await stack.runs();
      expect((await snapshot(stack)).boots).toEqual(boots);
    }));

  test('have their pin in .env if the stack was deployed with the values of .env', () =>
    onStack(small, async ({ stack, update }) => {
      const file = join(stack.directory, 'stack.yaml');
      const text = (await readFile(file, 'utf8')).replaceAll(svcImage('1.4.2'), svcImage('$SVC_VERSION'));
      await writeFile(file, text);
      await writeFile(join(stack.directory, '.env'), 'SVC_VERSION=1.4.2\n');
      const deploy = `cd ${stack.directory}; set -a; . ./.env; set +a; docker stack deploy --detach=true -c stack.yaml ${stack.name}`;
      await on('n1', 'sh', '-c', deploy);
      await stack.runs();
      const { last, log } = await update('1.5.0', { mount: stack.directory, args: ['--file', 'stack.yaml'] });
      expect(last, log).toContain(
        `to deploy these files later, run set -a; . ./.env; set +a; docker stack deploy -c stack.yaml ${stack.name}`,
      );
      expect(await readFile(join(stack.directory, '.env'), 'utf8')).toBe('SVC_VERSION=1.5.0\n');
      expect(await readFile(file, 'utf8')).toBe(text);
      const { boots } = await snapshot(stack);
      await on('n1', 'sh', '-c', deploy);
      await stack.runs();
      expect((await snapshot(stack)).boots).toEqual(boots);
    }));

  test('keep the version of a broken release until the next update', () =>
    onStack(small, async ({ stack, update }) => {
      const file = join(stack.directory, 'stack.yaml');
      const how = { mount: stack.directory, args: ['--file', 'stack.yaml'] };
      const broken = await update('1.6.0', how);
      expect(broken.last, broken.log).toContain('done broken');
      expect(await readFile(file, 'utf8')).toContain(svcImage('1.6.0'));
      const next = await update('2.0.0', how);
      expect(next.last, next.log).toContain('done updated v1.6.0 → v2.0.0');
      expect(await readFile(file, 'utf8')).not.toContain(svcImage('1.6.0'));
    }));

  test('are rejected if the stack was not deployed from them, and are restored by a rollback', () =>
    onStack(small, async ({ stack, before, update }) => {
      const [file, other] = ['stack.yaml', 'other.yaml'].map((name) => join(stack.directory, name)) as [
        string,
        string,
      ];
      const text = await readFile(file, 'utf8');
      await writeFile(other, text.replaceAll(svcImage('1.4.2'), svcImage('1.3.0')));
      const wrong = await update('1.5.0', { mount: stack.directory, args: ['--file', 'other.yaml'] });
      expect(wrong.last, wrong.log).toMatch(
        /ERROR done refused \(stack-file\): nothing was changed; v1\.4\.2 is still running/,
      );
      expect(wrong.log).toContain(
        `${stack.name}_app uses ${svcImage('1.4.2')}, but the files specify ${svcImage('1.3.0')}`,
      );
      expectUntouched(before, await snapshot(stack));
      await rename(file, join(stack.directory, 'compose.yaml'));
      const bad = await update('1.4.3', { mount: stack.directory });
      expect(bad.last, bad.log).toMatch(
        /ERROR done failed \(recreate-failed\): the files were restored, and v1\.4\.2 is running again/,
      );
      expect(bad.log).toMatch(/write compose\.yaml line \d+: .*backup: \.svc-updater\/backup/);
      expect(await readFile(join(stack.directory, 'compose.yaml'), 'utf8')).toBe(text);
      expect((await snapshot(stack)).specs).toEqual(before.specs);
    }));
});
