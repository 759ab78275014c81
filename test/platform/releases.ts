import { readFile } from 'node:fs/promises';
import type { ReleaseSetting } from '../../src/core/release/release-settings.ts';

/** A release of the platform: its image and its entry on the forge. */
export interface PlatformRelease {
  version: string;
  /** Its tag in the registry, if it differs from the version; null if the image was never pushed. */
  tag?: string | null;
  /** The release notes on the forge. */
  notes: string;
  /** The oldest release that can be updated to it. */
  requires?: string;
  /** A required setting, by role: `app:MAIL_FROM`. */
  needs?: string;
  /** Settings that are new in it. */
  settings?: readonly Partial<ReleaseSetting>[];
  /** Whether nobody can log in, although the health check succeeds. */
  hasBrokenLogin?: true;
  /** The oldest major version of PostgreSQL that its preflight accepts; without it, the release has no preflight. */
  postgres?: number;
  /** How many seconds the app takes to start; default 2. */
  bootSeconds?: number;
  /** Extra bytes in its image that no other release has. */
  ballast?: number;
  /** The signer: by default the publisher; null if it is not signed. */
  signedBy?: 'another key' | null;
}

const first: PlatformRelease = { version: 'v1.0.0', notes: 'The first release.', bootSeconds: 0 };

/** In release order. */
const later: readonly PlatformRelease[] = [
  {
    version: 'v1.1.0',
    notes:
      '## Authors\n\nThe **Data** page shows who created each row. A migration adds a database column for it.\n\n' +
      '- Deployments show their duration\n- Stuck backups can be ended\n',
    // Takes five seconds at the speed of the slowed registry.
    ballast: 4_000_000,
  },
  {
    version: 'v1.1.1',
    notes:
      'Published with the password of the forge, but without the signing key. (It is not signed, so it is never offered.)',
    signedBy: null,
  },
  {
    version: 'v1.1.2',
    notes: 'Published with the password of the forge and signed with another key. (It is never offered.)',
    signedBy: 'another key',
  },
  { version: 'v1.2.0-canary.1', tag: 'canary', notes: 'An early version of v1.2.0.' },
  {
    version: 'v1.2.0',
    tag: null,
    notes: 'Faster. (Its image was never pushed, so an update to it fails and changes nothing.)',
  },
  {
    version: 'v1.3.0',
    notes:
      'svc sends mail. (The app does not start until `MAIL_FROM` is set in `.env`, so an update is rolled back automatically.)',
    needs: 'app:MAIL_FROM',
  },
  {
    version: 'v1.3.1',
    notes:
      'More jobs. (The worker does not start until `WORKER_SLOTS` is set in `.env`, so an update is rolled back automatically.)',
    needs: 'worker:WORKER_SLOTS',
  },
  {
    version: 'v1.3.2',
    notes:
      'A new login page. (Users cannot log in, although the health check succeeds, so an update is rolled back.)',
    hasBrokenLogin: true,
  },
  {
    version: 'v1.3.3',
    notes:
      'Faster queries. (It requires a newer PostgreSQL, so an update is refused before anything is changed.)',
    postgres: 99,
  },
  {
    version: 'v1.4.0',
    notes: 'Faster backups. (The demo rolls it out to 10 % of all instances, and then recalls it.)',
  },
  {
    version: 'v1.4.1',
    notes: 'Sessions end when a password changes. (The demo marks it as a security update.)',
  },
  {
    version: 'v1.5.0',
    notes: 'Mail with a sender. (It needs the new setting `MAIL_FROM`, which the dialog asks for.)',
    needs: 'app:MAIL_FROM',
    postgres: 13,
    settings: [
      { name: 'MAIL_FROM', description: 'Sender of all mail, such as svc@example.org', required: true },
      { name: 'MAIL_KEY', description: 'Key that signs mail', generate: 'hex32', secret: true },
    ],
  },
  {
    version: 'v2.0.0',
    notes: 'A new major version. It requires v1.1.0.',
    requires: 'v1.1.0',
  },
];

export const platformReleases: readonly PlatformRelease[] = [first, ...later];

export function releaseOf(version: string): PlatformRelease {
  const found = platformReleases.find((release) => release.version === version);
  if (found === undefined) throw new Error(`there is no release ${version}`);
  return found;
}

/**
 * The compose file of a release. It passes a setting to its service from the release on that introduces the setting.
 */
export async function composeOf({ version }: PlatformRelease): Promise<string> {
  const text = await readFile(new URL('deploy/compose.yaml', import.meta.url), 'utf8');
  const at = platformReleases.findIndex((release) => release.version === version);
  const passed = platformReleases
    .slice(0, at + 1)
    .flatMap(({ needs, settings = [] }) => [needs ?? [], settings.map(({ name }) => `app:${name}`)].flat());
  return [...new Set(passed)]
    .reduce((before, setting) => {
      const [role, name] = setting.split(':');
      // The last shared setting, or the first setting of the worker.
      const place = role === 'app' ? /^ {6}API_TOKEN: .*\n/m : /^ {6}<<: .*\n/m;
      return before.replace(place, (line) => `${line}      ${name}: \${${name}:-}\n`);
    }, text)
    .replace('v0.0.0', version);
}
