import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { differs } from '../judge/differs.ts';
import { findContainers } from '../rig/engine-api.ts';
import { type UpdateResult, updaterImage } from '../rig/updater-run.ts';
import type { Installed } from './installed.ts';
import { type ReleaseName, tagsOf } from './product.ts';

/** The texts of the project's own files that `enable` may change. */
type Texts = Record<string, string | null>;

/**
 * The owner adds the button, updates, rolls back and removes the button. Returns a sentence for each error. The product
 * has no callbacks, so its service `updates` only has to run.
 */
export async function tryEnable(installed: Installed): Promise<string[]> {
  const { product, form, place } = installed;
  const [app, ...workers] = product.moved;
  const services = [app, ...workers].flatMap((name) => ['--service', name]);
  const repository = repositoryOf(installed);
  await publishUpdates(installed, repository, 'old');
  const record = {
    name: 'larder',
    services: ['app', 'updates'],
    updatesImage: `${place.registry}/${repository}`,
  };
  installed.environment = { SVC_UPDATER_PRODUCT: JSON.stringify(record) };
  const others = Object.keys(product.services).filter((name) => !product.moved.includes(name));
  const data = ['data:', ...others.map((name) => `  ${name}: none`), ''].join('\n');
  if (others.length > 0) await writeFile(join(installed.directory, '.svc-updater.yaml'), data);
  const texts = () => textsOf(installed);
  const before = await texts();
  const errors: string[] = [];
  const expectLast = (result: UpdateResult, text: string) => {
    const last = result.lines.at(-1)?.message ?? '';
    if (!last.includes(text)) errors.push(`the last line is "${last}", without "${text}"`);
    return last;
  };
  /** Runs `enable` without and with the hash, and then the command of the last line. */
  const change = async (...flags: string[]) => {
    const old = await texts();
    const dry = await installed.run('enable', ...services, ...flags);
    const hash = /--yes (\w{12})$/.exec(expectLast(dry, 'planned: nothing was changed'))?.[1] ?? 'none';
    errors.push(...differs('the files after a dry run', old, await texts()));
    const done = await installed.run('enable', ...services, ...flags, '--yes', hash);
    const [, names = ''] =
      /up -d ([^(]*) \(/.exec(expectLast(done, 'to apply the change, run docker compose')) ?? [];
    await installed.compose('up', '-d', '--quiet-pull', ...names.split(' '));
    await installed.waitUntilUp();
  };

  await change();
  expectLast(await installed.run('enable', ...services), 'the service updates is running; nothing to do');
  const version = product.releases.old.tag;
  errors.push(...differs('the version with the button', version, await installed.version()));

  await installed.publish('next');
  await publishUpdates(installed, repository, 'next');
  const target = product.isUntargeted ? [] : ['--target', product.releases.next.tag];
  expectLast(await installed.run('plan', ...target), 'planned: nothing was changed');
  expectLast(await installed.run('update', '--restore-point', ...target), 'updated ');
  errors.push(...differs('the updated version', product.releases.next.tag, await installed.version()));
  expectLast(await installed.run('rollback', '--yes'), 'updated ');
  await installed.waitUntilUp();
  errors.push(...differs('the version after the rollback', version, await installed.version()));

  await change('--undo');
  const [updates] = (await findContainers(installed.name)).filter(
    ({ Config }) => Config.Labels['com.docker.compose.service'] === 'updates',
  );
  if (updates) await execa('docker', ['rm', '--force', updates.Id]);
  const unpinned = (each: Texts) =>
    Object.fromEntries(
      Object.entries(each).map(([name, text]) => [
        name,
        (text ?? '')
          .replaceAll(version, 'TAG')
          .replaceAll(`:${tagsOf(product.releases.old).at(-1)}`, ':TAG')
          .replace(/\nservices: \[.*\]\n$/, '\n'),
      ]),
    );
  if (form.name === 'pinned') errors.push(...differs('the files', unpinned(before), unpinned(await texts())));
  return errors;
}

function repositoryOf({ product }: Installed): string {
  const service = product.services[product.moved[0]];
  const own = service?.repository ?? product.shared?.[service?.like ?? '']?.repository;
  return `${own}-updates`;
}

/** Pushes the product's own image of svc-updater under the tags of a release. */
async function publishUpdates(
  { product, place }: Installed,
  repository: string,
  name: ReleaseName,
): Promise<void> {
  const release = product.releases[name];
  const [first = '', ...tags] = tagsOf(release).map((tag) => `${place.registry}/${repository}:${tag}`);
  const lines = [
    `FROM ${updaterImage}`,
    `ENV SVC_SERVE_VERSION=${release.tag} SVC_SERVE_QUEUE=none`,
    `ENV SVC_SERVE_FEED='{"url":"http://127.0.0.1:9/releases.json"}'`,
    `LABEL org.opencontainers.image.version=${release.tag}`,
    'CMD ["serve"]',
  ];
  const env = { DOCKER_BUILDKIT: '1' };
  await execa('docker', ['build', '--quiet', '--tag', first, '-'], { env, input: lines.join('\n') });
  for (const tag of tags) await execa('docker', ['tag', first, tag]);
  for (const tag of [first, ...tags]) await execa('docker', ['push', '--quiet', tag]);
}

async function textsOf({ directory, product }: Installed): Promise<Texts> {
  const names = [product.file, '.env', '.svc-updater.yaml'];
  const texts = names.map((name) => readFile(join(directory, name), 'utf8').catch(() => null));
  return Object.fromEntries((await Promise.all(texts)).map((text, index) => [names[index] ?? '', text]));
}
