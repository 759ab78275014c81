import type { InstanceOptions } from '../rig/instance-options.ts';
import type { Kind } from '../rig/layout.ts';
import type { ReleaseOptions } from '../rig/releases.ts';

/** A kind of install, and how one moves it from release to release. */
interface Install {
  kind: Kind;
  /** The tag in its files; null where that is the release's own. */
  floating: string | null;
  /** Whether the operator names the release; otherwise what floats is pulled again. */
  named: boolean;
}

const pinned = (kind: Kind): Install => ({ kind, floating: null, named: true });

export const installs = {
  variable: pinned('variable'),
  inline: pinned('inline'),
  'default-tag': pinned('default-tag'),
  'two-files': pinned('two-files'),
  'env-file': pinned('env-file'),
  generated: pinned('generated'),
  cluster: pinned('cluster'),
  'cluster-only': pinned('cluster-only'),
  /** `latest`, and the operator names the release that it is meant to be by now. */
  'default-latest': { kind: 'default-latest', floating: 'latest', named: true },
  /** The same without a name. */
  moved: { kind: 'default-latest', floating: 'latest', named: false },
  canary: { kind: 'variable', floating: 'canary', named: false },
} as const satisfies Record<string, Install>;

export type InstallName = keyof typeof installs;
export const installNames = Object.keys(installs) as InstallName[];

/** Where the image declares a volume, so that every container of app and worker has an anonymous one. */
export const cache = '/cache';

/** A release of the instance's repository. */
export interface Release {
  /** 0 for v1.0.0, 1 for v1.1.0, … */
  number: number;
  /** What app and worker answer: `v1.1.0`. */
  version: string;
  /** What it is published under. */
  tag: string;
  /** What the operator types for it. */
  args: string[];
  /** What it is published as, with what is special about it. */
  options: ReleaseOptions;
}

/** The n-th release for that kind of install; good, but for the options. */
export function releaseOf(name: InstallName, number: number, options: ReleaseOptions = {}): Release {
  const { floating, named }: Install = installs[name];
  const plain = `1.${number}.0`;
  const version = floating === 'canary' ? `${plain}-canary.1` : plain;
  const args = floating === 'canary' ? ['--target', 'canary'] : named ? ['--target', `v${plain}`] : [];
  return {
    number,
    version: `v${version}`,
    tag: floating ?? `v${plain}`,
    args,
    options: { version, volumes: [cache], ...options },
  };
}

/** Of an instance of that kind at release 0. */
export function instanceOptions(name: InstallName, options: InstanceOptions = {}): InstanceOptions {
  const { tag, options: release } = releaseOf(name, 0);
  return { kind: installs[name].kind, tag, release, publish: [], ...options };
}
