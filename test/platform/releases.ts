import { readFile } from 'node:fs/promises';

/** A release of the platform: what its image is, and what the forge says of it. */
export interface PlatformRelease {
  version: string;
  /** Its tag in the registry, where that is not the version; null for none: somebody forgot to push it. */
  tag?: string | null;
  /** What is new, as the forge tells it. */
  notes: string;
  /** The oldest release that it can be updated from. */
  requires?: string;
  /** A setting without which a part does not start: `app:MAIL_FROM`. */
  needs?: string;
  /** How long the app takes to start. Default 2. */
  bootSeconds?: number;
  /** So many bytes are pulled with it that no other release has. */
  ballast?: number;
  /** Who has signed it. Default its publisher; null for nobody. */
  signedBy?: 'somebody else' | null;
}

const first: PlatformRelease = { version: 'v1.0.0', notes: 'The first one.', bootSeconds: 0 };

/** In the order in which they come out. */
const later: readonly PlatformRelease[] = [
  {
    version: 'v1.1.0',
    notes:
      '## Who made it\n\nThe page **Data** says who made each row. The database gets a column for it.\n\n' +
      '- Deployments show how long they took\n- A backup that hangs can be ended\n',
    // Five seconds at the pace of the slowed registry.
    ballast: 4_000_000,
  },
  {
    version: 'v1.1.1',
    notes:
      'Put here by somebody who has the password of the forge and no key. (Nothing signs it: it is never offered.)',
    signedBy: null,
  },
  {
    version: 'v1.1.2',
    notes: 'Likewise, and signed by a key of his own. (It is never offered.)',
    signedBy: 'somebody else',
  },
  { version: 'v1.2.0-canary.1', tag: 'canary', notes: 'For those who want it early.' },
  {
    version: 'v1.2.0',
    tag: null,
    notes: 'Faster. (Its image was never pushed: an update to it fails, and changes nothing.)',
  },
  {
    version: 'v1.3.0',
    notes:
      'svc sends mail. (Its app does not start before `MAIL_FROM` stands in `.env`, and nobody says so: an update is rolled back automatically.)',
    needs: 'app:MAIL_FROM',
  },
  {
    version: 'v1.3.1',
    notes:
      'More jobs. (Its worker does not start before `WORKER_SLOTS` stands in `.env`: an update is rolled back.)',
    needs: 'worker:WORKER_SLOTS',
  },
  {
    version: 'v2.0.0',
    notes: 'The great new one. It needs v1.1.0 first.',
    requires: 'v1.1.0',
  },
];

export const platformReleases: readonly PlatformRelease[] = [first, ...later];

export function releaseOf(version: string): PlatformRelease {
  const found = platformReleases.find((release) => release.version === version);
  if (found === undefined) throw new Error(`there is no release ${version}`);
  return found;
}

/** The compose file that a release carries. A setting that is new is handed to the part that needs it from then on. */
export async function composeOf({ version }: PlatformRelease): Promise<string> {
  let text = await readFile(new URL('deploy/compose.yaml', import.meta.url), 'utf8');
  const at = platformReleases.findIndex((release) => release.version === version);
  for (const { needs } of platformReleases.slice(0, at + 1)) {
    const [role, name] = needs?.split(':') ?? [];
    // The last line of what both have, and the first of what is the worker's own.
    const place = role === 'app' ? /^ {6}API_TOKEN: .*\n/m : /^ {6}<<: .*\n/m;
    if (name !== undefined) text = text.replace(place, (line) => `${line}      ${name}: \${${name}:-}\n`);
  }
  return text.replace('v0.0.0', version);
}
