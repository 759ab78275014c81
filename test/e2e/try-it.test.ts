import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { toVariablePrefix } from '../../src/core/names/product.ts';
import { read } from '../documents/documents.ts';
import { engineSocket, removeNamed } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { openBrowser } from '../rig/web/browser.ts';
import { Visitor } from './support/visitor.ts';

// docs/try-it.md: its commands, in an empty directory, and the buttons that it names.

const page = read('docs/try-it.md');
const [, commands = ''] = /^```\n([\s\S]*?)^```$/m.exec(page) ?? [];
const cleanUp = /To remove the containers:\s`(.*)`/.exec(page)?.[1] ?? '';

test('the commands of the page start an app that a button updates, and another one rolls back', async () => {
  const name = `try-${randomBytes(6).toString('hex')}`;
  const { directory } = inject('host');
  const port = await freePort();
  const type = (text: string, cwd: string) => {
    const typed = text
      .replaceAll('svc-updater:dev', updaterImage)
      .replaceAll('/var/run/docker.sock:/', `${engineSocket}:/`)
      .replaceAll('8088', `${port}`)
      .replaceAll('TRIAL', toVariablePrefix(name))
      .replaceAll('trial', name);
    return execa('sh', ['-ec', typed], { cwd, all: true, timeout: 120_000 });
  };
  onTestFinished(() => removeNamed(name));
  await type(commands, directory);
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const url = `http://127.0.0.1:${port}`;
  const version = () =>
    fetch(url).then(
      (response) => response.text().then((text) => text.slice(0, 6)),
      () => null,
    );
  // The service reads the feed at its start, and again when the page asks for it.
  const offered = () =>
    fetch(`${url}/api/v1/instance/update?refresh=1`).then(
      (response) => response.text(),
      () => '',
    );
  await expect.poll(offered, { timeout: 60_000, interval: 500 }).toContain('"canUpdate":true');
  expect(await version()).toBe('v1.0.0');

  const visitor = await Visitor.arrive(browser, 'Ada');
  await visitor.page.goto(url);
  await visitor.press('Update to v1.1.0');
  await visitor.press('Update now');
  await visitor.sees(/Updated to v1\.1\.0/);
  expect(await version()).toBe('v1.1.0');
  await visitor.press(/v1\.1\.0, open update dialog$/);
  await visitor.page.getByText(/^Channel: /).click();
  await visitor.press('Roll back to v1.0.0…');
  await visitor.press('Roll back…');
  await visitor.press('Roll back to v1.0.0');
  await expect.poll(version, { timeout: 120_000, interval: 500 }).toBe('v1.0.0');
  await visitor.sees(/Rolled back to v1\.0\.0/);
  expect(visitor.complaints).toEqual([]);

  await type(cleanUp, join(directory, name));
  const { stdout } = await execa('docker', ['ps', '-aq', '--filter', `name=${name}`]);
  expect(stdout).toBe('');
});
