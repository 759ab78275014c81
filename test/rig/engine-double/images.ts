import { createHash } from 'node:crypto';

export interface ImageDouble {
  id: string;
  /** `acme/svc-updater:v1.0.0` */
  references: string[];
  /** `acme/svc-updater@sha256:…` */
  digests: string[];
  size: number;
  entrypoint: readonly string[];
}

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** The local images of the engine, and the images that it can pull. */
export class Images {
  readonly local: ImageDouble[] = [];
  readonly #published = new Map<string, ImageDouble>();

  /** Makes an image available for pulls by tag and by digest. Returns the digest. */
  publish(reference: string): string {
    const digest = digestOf(`manifest of ${reference}`);
    const [repository] = split(reference);
    const image: ImageDouble = {
      id: digestOf(reference),
      references: [reference],
      digests: [`${repository}@${digest}`],
      size: 98_700_000,
      entrypoint: ['/usr/local/bin/node', '--', '/usr/local/lib/svc-updater/agent.mjs'],
    };
    this.#published.set(reference, image);
    this.#published.set(`${repository}@${digest}`, image);
    return digest;
  }

  /** Adds a local image. */
  add(reference: string): ImageDouble {
    this.publish(reference);
    return this.#keep(reference) as ImageDouble;
  }

  find(reference: string): ImageDouble | null {
    const named = withTag(reference);
    return (
      this.local.find(
        ({ id, references, digests }) =>
          id === reference || references.includes(named) || digests.includes(named),
      ) ?? null
    );
  }

  /** The digest of a reference in its registry; null if it has none. */
  digestOf(reference: string): string | null {
    return this.#published.get(withTag(reference))?.digests[0]?.split('@')[1] ?? null;
  }

  /** Pulls an image, and returns the engine's progress lines. Null if no image with that name is published. */
  pull(repository: string, tag: string): Record<string, unknown>[] | null {
    const reference = tag.startsWith('sha256:') ? `${repository}@${tag}` : `${repository}:${tag}`;
    const published = this.#published.get(reference);
    if (!published) return null;
    const isHere = this.find(reference)?.id === published.id;
    this.#keep(reference);
    const digest = { status: `Digest: ${this.digestOf(reference)}` };
    const from = { status: `Pulling from ${repository.replace(/^[^/]*[.:][^/]*\//, '')}`, id: tag };
    if (isHere) return [from, digest, { status: `Status: Image is up to date for ${reference}` }];
    return [from, ...layerLines, digest, { status: `Status: Downloaded newer image for ${reference}` }];
  }

  #keep(reference: string): ImageDouble | null {
    const image = this.#published.get(reference);
    if (!image) return null;
    for (const other of this.local) {
      if (other !== image) other.references = other.references.filter((named) => named !== reference);
    }
    if (!this.local.includes(image)) this.local.push(image);
    return image;
  }
}

/** Two layers, as recorded for a small image. */
const layerLines: Record<string, unknown>[] = [
  { status: 'Pulling fs layer', progressDetail: {}, id: '16717d998c68' },
  { status: 'Pulling fs layer', progressDetail: {}, id: '4f93bba00d64' },
  {
    status: 'Downloading',
    progressDetail: { current: 3679, total: 60194 },
    progress: '[===>                                               ]  3.679kB/60.19kB',
    id: '4f93bba00d64',
  },
  { status: 'Download complete', progressDetail: {}, id: '4f93bba00d64' },
  {
    status: 'Downloading',
    progressDetail: { current: 32768, total: 400307 },
    progress: '[====>                                              ]  32.77kB/400.3kB',
    id: '16717d998c68',
  },
  { status: 'Verifying Checksum', progressDetail: {}, id: '16717d998c68' },
  { status: 'Download complete', progressDetail: {}, id: '16717d998c68' },
  { status: 'Pull complete', progressDetail: {}, id: '16717d998c68' },
  { status: 'Pull complete', progressDetail: {}, id: '4f93bba00d64' },
];

/** Repository and tag; a colon before a slash belongs to the registry's host. */
function split(reference: string): [repository: string, tag: string | null] {
  const colon = reference.lastIndexOf(':');
  return colon > reference.lastIndexOf('/')
    ? [reference.slice(0, colon), reference.slice(colon + 1)]
    : [reference, null];
}

function withTag(reference: string): string {
  const [repository, digest] = reference.split('@');
  if (digest !== undefined) return `${split(repository as string)[0]}@${digest}`;
  return split(reference)[1] === null ? `${reference}:latest` : reference;
}
