import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** What svc takes from its environment. An empty value is none. */
export interface Settings {
  version: string;
  databaseUrl: string;
  updaterImage: string;
  updaterName: string;
  updaterPull: 'always' | 'missing';
  feedUrl: string | null;
  /** Whose releases are taken: what their publisher has built in. */
  publisherKey: string;
  /** With which build servers say that they are there. */
  agentToken: string | null;
  /** With which programs, such as the client `svc`, act as an admin. */
  apiToken: string | null;
  /** Whose web part is served, and the style sheet and the script beside it. */
  assets: string;
  /** How long it takes to start, so that people can see it. */
  bootMs: number;
  /** Names of settings without which this release does not start: `app:MAIL_FROM`. */
  needs: readonly string[];
  /** Who this is among all processes of the instance. */
  host: string;
}

export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const text = (key: string) => env[key] || null;
  return {
    version: text('SVC_RELEASE') ?? readFileSync('/etc/svc-version', 'utf8').trim(),
    databaseUrl: text('DATABASE_URL') ?? 'postgres://svc@db/svc',
    updaterImage: text('UPDATER_IMAGE') ?? 'svc-updater:dev',
    updaterName: text('UPDATER_NAME') ?? 'svc-updater',
    updaterPull: text('UPDATER_PULL') === 'missing' ? 'missing' : 'always',
    feedUrl: text('FEED_URL'),
    publisherKey: readFileSync('/etc/svc-publisher.pem', 'utf8'),
    agentToken: text('AGENT_TOKEN'),
    apiToken: text('API_TOKEN'),
    assets: text('ASSETS') ?? '/srv/assets',
    bootMs: Number(text('BOOT_SECONDS') ?? 0) * 1000,
    needs: (text('NEEDS') ?? '').split(' ').filter((name) => name !== ''),
    host: hostname(),
  };
}

/** A setting that came with a release and that nobody has made yet. */
export function checkNeeds({ needs, version }: Settings, role: string, env = process.env): void {
  for (const need of needs) {
    const [of, name = ''] = need.split(':');
    if (of === role && !env[name]) {
      throw new Error(`svc ${version}: ${name} is not set; this release needs it in .env`);
    }
  }
}
