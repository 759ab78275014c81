import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseTrust } from '../../src/provenance/trust.ts';
import { root } from '../documents/documents.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';

const archive = 'the npm package';
const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;

/** A checkout with only the required files, and programs that record their arguments. */
let checkout = '';
beforeEach(async () => {
  checkout = await temporaryDirectory();
  await mkdir(join(checkout, 'scripts'));
  await copyFile(join(root, 'scripts/publish'), join(checkout, 'scripts/publish'));
  await mkdir(join(checkout, 'bin'));
  const says = (program: string, more = '') => `#!/bin/sh\nset -eu\necho "${program} $*" >>"$LOG"\n${more}\n`;
  const put = (name: string, text: string) => writeFile(join(checkout, name), text, { mode: 0o755 });
  await put(
    'scripts/release',
    says(
      'release',
      `echo "to $SVC_RELEASE_IMAGE, from $SVC_UPDATER_BUILD_FEED" >>"$LOG"
cp "$3" "$LOG.trust"
for out; do :; done
mkdir -p "$out/assets"
printf '${archive}' >"$out/assets/svc-updater-$(sed -n 's/.*"version": "\\(.*\\)".*/\\1/p' package.json).tgz"
echo >"$out/assets/release.json"`,
    ),
  );
  await put('bin/cosign', says('cosign', 'for out; do :; done; echo \'{"mediaType":"x"}\' >"$out"'));
  await put('bin/docker', says('docker', '[ "$1" != login ] || cat >"$LOG.password"'));
  await put('bin/npm', says('npm', '[ "$1" != view ] || printf %s "$KNOWN"'));
  await put(
    'bin/gh',
    says(
      'gh',
      `case $2 in
list) cat "$LOG.releases" ;;
view) ls "$LOG.assets/$3" ;;
download) mkdir -p "$9"; cp "$LOG.assets/$3"/channel.json* "$9" ;;
create) shift 8; cp "$2" "$LOG.notes" ;;
esac`,
    ),
  );
  await writeFile(join(checkout, 'log.releases'), '');
  await release(
    '1.5.0',
    '# Changelog\n\n## [1.5.0] - 2026-11-20\n\n### Added\n\n- New.\n\n## [1.4.0]\n\n- Old.\n',
  );
});

async function release(version: string, changelog: string) {
  await writeFile(join(checkout, 'package.json'), `{\n  "version": "${version}"\n}\n`);
  await writeFile(join(checkout, 'CHANGELOG.md'), changelog);
}

const log = (name = '') => readFile(join(checkout, `log${name}`), 'utf8');
const publish = (env: Record<string, string> = {}) =>
  execa(join(checkout, 'scripts/publish'), [], {
    env: {
      ...{ GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: 'v1.5.0', GITHUB_REPOSITORY: 'Acme/svc-updater' },
      ...{ GITHUB_ACTOR: 'anna', GH_TOKEN: 'Zq7secret', KNOWN: '', LOG: join(checkout, 'log') },
      GITHUB_WORKFLOW_REF: 'Acme/svc-updater/.github/workflows/release.yml@refs/tags/v1.5.0',
      PATH: [join(checkout, 'bin'), process.env.PATH].join(delimiter),
      ...env,
    },
    reject: false,
  });

/** Recorded commands in order, without the directories of temporary files. */
const asked = async () =>
  (await log())
    .split('\n')
    .filter(Boolean)
    .map((line) => line.replace(/\S*\/(?=[^/\s]+(?:\s|$))/g, ''));

describe('scripts/publish', () => {
  it('makes and pushes the release, publishes the npm package, and publishes the GitHub release last', async () => {
    const { exitCode, stderr } = await publish();
    expect(exitCode, stderr).toBe(0);
    expect(await asked()).toEqual([
      'cosign trusted-root create --with-default-services --out root.json',
      'gh release list --repo svc-updater --exclude-drafts --json tagName,isPrerelease --jq [.[] | select(.isPrerelease == false).tagName][:3][]',
      'docker login ghcr.io --username anna --password-stdin',
      'release --keyless --trust trust.json --bundle --push --out made',
      'to svc-updater, from releases',
      'npm view svc-updater@1.5.0 dist.integrity',
      'npm publish svc-updater-1.5.0.tgz --ignore-scripts --access public --provenance --tag latest',
      'gh release create v1.5.0 --repo svc-updater --verify-tag --title v1.5.0 --notes-file notes.md release.json svc-updater-1.5.0.tgz',
    ]);
    const whole = await log();
    expect(whole).toContain(
      'to ghcr.io/acme/svc-updater, from https://api.github.com/repos/Acme/svc-updater/releases',
    );
    expect(whole).not.toContain('Zq7secret');
    expect(await log('.password')).toBe('Zq7secret\n');
    expect(await log('.notes')).toBe('### Added\n- New.\n');
    expect(parseTrust(await log('.trust'))).toEqual({
      identity: 'https://github.com/Acme/svc-updater/.github/workflows/release.yml@refs/tags/*',
      issuer: 'https://token.actions.githubusercontent.com',
      root: { mediaType: 'x' },
    });
  });

  it('skips npm publish only if npm has the same package already', async () => {
    expect((await publish({ KNOWN: integrity })).exitCode).toBe(0);
    expect((await asked()).filter((line) => line.startsWith('npm'))).toHaveLength(1);
    await publish({ KNOWN: 'sha512-other' });
    expect((await asked()).filter((line) => line.startsWith('npm publish'))).toHaveLength(1);
  });

  it('continues the newest channel file of the last releases', async () => {
    const attach = async (tag: string, files: Record<string, string>) => {
      await mkdir(join(checkout, 'log.assets', tag), { recursive: true });
      for (const [name, text] of Object.entries(files))
        await writeFile(join(checkout, 'log.assets', tag, name), text);
    };
    const channel = (issuedAt: string) => ({
      'channel.json': JSON.stringify({ issuedAt }),
      'channel.json.sigstore.json': '',
    });
    const releases = {
      'v1.4.2': { 'release.json': '' },
      'v1.4.1': channel('2026-11-20T08:00:00Z'),
      'v1.4.0': channel('2026-11-21T08:00:00Z'),
      'v1.3.9': channel('2026-11-19T08:00:00Z'),
    };
    for (const [tag, files] of Object.entries(releases)) await attach(tag, files);
    await writeFile(join(checkout, 'log.releases'), Object.keys(releases).join('\n'));
    expect((await publish()).exitCode).toBe(0);
    expect(await log()).toMatch(/^release .* --channel-file \S+\/v1\.4\.0\/channel\.json --out /m);
  });

  it('makes no release if the last releases cannot be read', async () => {
    await rm(join(checkout, 'log.releases'));
    expect((await publish()).exitCode).not.toBe(0);
    expect(await log()).not.toMatch(/^release /m);
  });

  it('publishes a version with a suffix as canary on npm and as a prerelease on GitHub', async () => {
    await release('1.6.0-rc.1', '## [1.6.0-rc.1]\n\n- Newer.\n');
    expect((await publish({ GITHUB_REF_NAME: 'v1.6.0-rc.1' })).exitCode).toBe(0);
    expect((await asked()).filter((line) => /--tag canary$| --prerelease /.test(line))).toHaveLength(2);
  });

  it.each([
    ['by hand', { GITHUB_REF_TYPE: '' }, 'run this only in the workflow of the tag v1.5.0'],
    ['of another tag', { GITHUB_REF_NAME: 'v1.5.1' }, 'the version in package.json'],
  ])('publishes nothing: %s', async (_, env, why) => {
    const { exitCode, stderr } = await publish(env);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(why) });
    await expect(asked()).rejects.toThrow();
  });

  it('publishes nothing if CHANGELOG.md has no section for the version', async () => {
    await release('1.5.0', '## [Unreleased]\n\n- New.\n');
    const { exitCode, stderr } = await publish();
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: 'publish: CHANGELOG.md has no section for 1.5.0',
    });
  });
});
