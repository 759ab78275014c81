import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Settings from the environment. An empty value counts as not set. */
export interface Settings {
  version: string;
  databaseUrl: string;
  updaterImage: string;
  updaterName: string;
  updaterPull: 'always' | 'missing';
  feedUrl: string | null;
  /** The public key of the publisher, built into the image. Only releases signed with it are accepted. */
  publisherKey: string;
  /** The token of build servers. */
  agentToken: string | null;
  /** The token of programs that act as an admin, such as the client `svc`. */
  apiToken: string | null;
  /** The directory of the web elements, the style sheet and the script. */
  assets: string;
  /** An extra delay at start that makes the downtime visible. */
  bootMs: number;
  /** Required settings of this release, by role: `app:MAIL_FROM`. */
  needs: readonly string[];
  /** For a release whose health check succeeds although nobody can log in. */
  hasBrokenLogin: boolean;
  /** The host name, unique among all processes of the instance. */
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
    hasBrokenLogin: env.BROKEN_LOGIN === '1',
    host: hostname(),
  };
}

/** @throws Error if a setting that this release requires is not set */
export function checkNeeds({ needs, version }: Settings, role: string, env = process.env): void {
  for (const need of needs) {
    const [of, name = ''] = need.split(':');
    if (of === role && !env[name]) {
      throw new Error(`svc ${version} requires ${name}: set it in .env`);
    }
  }
}
