import type { InstanceOptions } from '../rig/instance-options.ts';
import type { Kind } from '../rig/layout.ts';
import type { ReleaseOptions } from '../rig/releases.ts';

/** A kind of install, and the way in which it is updated. */
interface Install {
  kind: Kind;
  /** The floating tag in its files; null if the files contain the release's own tag. */
  floating: string | null;
  /** Whether the operator specifies the release; otherwise the floating tag is pulled again. */
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
  /** `latest`, and the operator specifies the release that it should point to. */
  'default-latest': { kind: 'default-latest', floating: 'latest', named: true },
  /** `latest`, without a target. */
  moved: { kind: 'default-latest', floating: 'latest', named: false },
  canary: { kind: 'variable', floating: 'canary', named: false },
} as const satisfies Record<string, Install>;

export type InstallName = keyof typeof installs;
export const installNames = Object.keys(installs) as InstallName[];

/** A path that the image declares as a volume, so that every container of app and worker has an anonymous volume. */
export const cache = '/cache';

/** A release of the instance's repository. */
export interface Release {
  /** 0 for v1.0.0, 1 for v1.1.0, … */
  number: number;
  /** The version that app and worker report: `v1.1.0`. */
  version: string;
  /** Its tag in the registry. */
  tag: string;
  /** The operator's arguments for the update. */
  args: string[];
  /** The options of its image. */
  options: ReleaseOptions;
}

/** The n-th release for that kind of install; a good release unless the options change it. */
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

/** Options of an instance of that kind at release 0. */
export function instanceOptions(name: InstallName, options: InstanceOptions = {}): InstanceOptions {
  const { tag, options: release } = releaseOf(name, 0);
  return { kind: installs[name].kind, tag, release, publish: [], ...options };
}
