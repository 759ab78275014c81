import { type Container, toContainer } from './objects/container.ts';
import { type Json, requireNonEmptyString, toList, toObject } from './objects/json.ts';
import { composeLabels } from './objects/labels.ts';
import type { PullProgress } from './registry/pull-progress.ts';
import type { RegistryCredentials } from './registry/registry-credentials.ts';

export interface EngineVersionInfo {
  version: string;
  /** Platform, such as `linux/amd64`; empty if the engine does not report it. */
  platform: string;
  /** Supported API versions, such as `1.40` and `1.56`; null if the engine does not report them. */
  api: { oldest: string; newest: string } | null;
}

/** Body of `POST /containers/create`, with the container's name. */
export type ContainerSpec = {
  name: string;
  Image: string;
  Cmd?: string[];
  Healthcheck?: { Test: string[] };
  Env?: string[];
  Labels?: Record<string, string>;
  StopTimeout?: number;
  HostConfig?: { Mounts?: MountSpec[]; [key: string]: unknown };
};

export interface MountSpec {
  Type: 'bind' | 'volume';
  Source: string;
  Target: string;
  ReadOnly?: boolean;
}

export interface ImagePullRequest {
  repository: string;
  /** Tag or digest. */
  tag: string;
  credentials: RegistryCredentials | null;
  onProgress: (progress: PullProgress) => void;
  signal: AbortSignal;
}

export interface RemoteImage {
  digest: string;
  /** Platforms in the format of a Swarm service spec; empty if the registry does not report them. */
  platforms: readonly Json[];
}

export interface ListedMount {
  /** Volume name; empty for a bind mount. */
  volume: string;
  /** Host path of the mounted directory. */
  source: string;
  destination: string;
}

export function parseContainer(raw: Json): Container {
  const container = toContainer({ ...raw, Id: requireNonEmptyString(raw.Id) });
  if (Number.isNaN(Date.parse(container.createdAt))) throw new TypeError(`created at ${container.createdAt}`);
  return container;
}

export const localPlatformOf = ({ Manifests }: Json): unknown =>
  toList<Json>(Manifests).flatMap(({ Available, ImageData }) =>
    Available ? (toObject(ImageData).Platform ?? []) : [],
  )[0];

/**
 * Selects the networks or volumes with exactly these names, because the engine's filter also returns partial matches.
 */
export const selectByExactNames = (listed: unknown, names: readonly string[]) =>
  (toList(listed) as { Name: string; Labels?: Record<string, string> | null; Options?: Json | null }[])
    .filter(({ Name }) => names.includes(Name))
    .map(({ Name, Labels, Options }) => ({
      name: Name,
      /** Hash of the compose definition; null if another program created the network or volume. */
      hash: Labels?.[composeLabels.configHash] || null,
      options: Options ?? {},
    }));

/**
 * Converts an entry of `Mounts`. Returns an empty list if the entry is neither a volume nor a bind mount with a source.
 */
export function toListedMounts({ Type, Name, Source, Destination }: Json): ListedMount[] {
  if ((Type !== 'bind' && Type !== 'volume') || !Source) return [];
  const volume = Type === 'volume' ? String(Name) : '';
  return [{ volume, source: String(Source), destination: String(Destination ?? '') }];
}

export function toRemoteImage({ Descriptor, Platforms }: Json): RemoteImage {
  // For arm, omit the architecture, as `docker stack deploy` does, so that each node selects the variant that it can
  // run.
  const platforms = toList<Json>(Platforms).flatMap(({ architecture, os }) =>
    os === 'unknown' ? [] : [{ Architecture: architecture === 'arm' ? '' : architecture, OS: os }],
  );
  return { digest: requireNonEmptyString(toObject(Descriptor).digest), platforms };
}
