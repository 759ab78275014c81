import { type Container, type Mount, readContainer, statusOf } from './container.ts';

/** A container with what the server library alone asks of it. */
export interface ContainerDetails extends Container {
  /** ISO 8601. */
  createdAt: string;
  finishedAt: string;
  /** The arguments behind the entrypoint. */
  args: readonly string[];
  /** Its mounts as directories and files of the host; a volume is one, too. */
  hostMounts: readonly Mount[];
}

/** A container's definition as the engine's API takes it, and its name. */
export interface ContainerSpec {
  name: string;
  Image: string;
  Cmd?: string[];
  Env?: string[];
  Labels?: Record<string, string>;
  StopTimeout?: number;
  HostConfig?: { Mounts?: MountSpec[]; [key: string]: unknown };
}

export interface MountSpec {
  Type: 'bind' | 'volume';
  Source: string;
  Target: string;
  ReadOnly?: boolean;
}

/** What a list tells of a container. */
export interface ListedContainer {
  /** 64 hex digits. */
  id: string;
  name: string;
  status: string;
  imageId: string;
  /** The reference it was created from; its image's id where that names another image by now. */
  imageReference: string;
  labels: Readonly<Record<string, string>>;
  /** `container:<id>` in another's network. */
  networkMode: string;
}

export function readDetails(raw: Record<string, unknown>): ContainerDetails {
  const { State, Config, Created } = raw as Record<string, Record<string, unknown>>;
  const createdAt = textOf(Created);
  if (Number.isNaN(Date.parse(createdAt))) throw new TypeError(`created at ${createdAt}`);
  return {
    ...readContainer(raw),
    id: textOf(raw.Id),
    createdAt,
    finishedAt: String(State?.FinishedAt ?? ''),
    args: [...((Config?.Cmd as string[] | null) ?? [])],
    hostMounts: hostMountsOf(raw.Mounts),
  };
}

/** @throws TypeError if it is no container */
export function readListed(raw: unknown): ListedContainer {
  const { Id, Names, State, Image, ImageID, Labels, HostConfig } = Object(raw);
  return {
    id: textOf(Id),
    name: String(Names?.[0] ?? '').replace(/^\//, ''),
    status: statusOf(State),
    imageId: String(ImageID ?? ''),
    imageReference: String(Image ?? ''),
    labels: Labels ?? {},
    networkMode: String(HostConfig?.NetworkMode ?? ''),
  };
}

function hostMountsOf(raw: unknown): Mount[] {
  const mounts = (Array.isArray(raw) ? raw : []) as Record<string, unknown>[];
  return mounts.flatMap(({ Type, Source, Destination, RW }) =>
    (Type === 'bind' || Type === 'volume') && typeof Source === 'string' && Source.startsWith('/')
      ? [{ type: 'bind', source: Source, destination: String(Destination), writable: Boolean(RW) }]
      : [],
  );
}

export function textOf(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError('a text is missing');
  return value;
}

export function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError('a list is missing');
  return value;
}
