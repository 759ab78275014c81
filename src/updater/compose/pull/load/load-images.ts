import { once } from 'node:events';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { parseImageReference, shortRepositoryOf } from '../../../../core/compose/pins/image-reference.ts';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import {
  createTarEntry,
  createTarHeader,
  tarPaddingSizeOf,
  tarTrailer,
} from '../../../../core/files/tar-header.ts';
import { EngineError } from '../../../../engine/http/engine-error.ts';
import { ociLayoutAnnotations } from '../../../../engine/objects/labels.ts';
import { classifyPullFailure } from '../../../../engine/registry/classify-pull-failure.ts';
import { blobEntryNameOf, type ReleaseArchive } from '../../../../provenance/release-archive.ts';
import { awaitWithHeartbeat } from '../../../run/log/heartbeat.ts';
import { type ExpectedDigests, requireOpenReleaseArchive } from '../../../run/release/expected-digests.ts';
import type { EngineContext } from '../../../run/run-context.ts';
import type { PullLog } from '../pull-images.ts';
import { findVerifiedDigests } from '../require-verified.ts';
import { type ArchivedImage, blobSizeOf, findArchivedImage, requireIntactArchive } from './archived-image.ts';

const progressEveryMs = 1_000;

interface Loading {
  /** Path of the archive. */
  from: string;
  expected: ExpectedDigests;
  platform: string;
  /** Deadline as a `performance.now()` time in ms. */
  deadline: number;
}

/**
 * Loads images from an archive, and tags them with this instance's references. Verifies all digests before loading the
 * first image.
 * @param wanted - references, keyed by service
 * @returns the references whose images are in the archive
 * @throws UpdateError not-proven, pull-…
 */
export async function loadImagesFromArchive(
  context: EngineContext,
  wanted: ReadonlyMap<string, string>,
  loading: Loading,
): Promise<ReadonlySet<string>> {
  const { from, expected, platform } = loading;
  const archive = await requireOpenReleaseArchive(from);
  try {
    const images = new Map<string, ArchivedImage>();
    try {
      for (const [service, reference] of wanted) {
        const image = await findArchivedImage(
          archive,
          findVerifiedDigests(service, reference, expected.images),
          platform,
        );
        if (image !== null) images.set(reference, image);
      }
      if (images.size === 0) return new Set();
      await requireIntactArchive(
        archive,
        expected.files,
        createLoadReporter(context.log, from, 'read', archiveSizeOf(archive)),
      );
    } catch (cause) {
      throw cause instanceof UpdateError ? cause : createArchiveError(from, cause);
    }
    await sendImages(context, archive, images, loading);
    return new Set(images.keys());
  } finally {
    await archive.close();
  }
}

async function sendImages(
  { engine, log }: EngineContext,
  archive: ReleaseArchive,
  images: ReadonlyMap<string, ArchivedImage>,
  { from, deadline }: Loading,
): Promise<void> {
  const names = [...images.keys()].join(', ');
  const parts = [...new Set([...images.values()].flatMap((image) => image.blobs))];
  const bytes = parts.reduce((sum, part) => sum + blobSizeOf(archive, part), 0);
  const readable = { ...archive, stream: (name: string) => streamFile(archive, name, from) };
  const input = Readable.from(
    streamImageLayout(readable, images, parts, createLoadReporter(log, from, 'loaded', bytes)),
    {
      objectMode: false,
    },
  );
  const late = AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now())));
  const loading = engine.loadImages(input, AbortSignal.any([engine.aborted, late]));
  // The heartbeat shows that the run is active while the engine unpacks the images.
  const failure = await awaitWithHeartbeat(log, `loading ${names} into the engine`, loading).catch(
    (error) => error,
  );
  if (!input.destroyed) {
    input.destroy();
    await once(input, 'close');
  }
  if (engine.aborted.aborted) throw engine.abortError;
  if (late.aborted) throw new UpdateError('pull-timeout', `loading ${names} took longer than allowed`);
  // If the archive could not be read, the engine's error is only a consequence.
  if (input.errored instanceof UpdateError) throw input.errored;
  if (failure !== undefined) {
    if (!(failure instanceof EngineError)) throw failure;
    const { message, status } = failure;
    const { code, sentence } = classifyPullFailure(message, images.keys(), status);
    const isKnown = code === 'pull-space' || code === 'pull-platform';
    throw new UpdateError(
      isKnown ? code : 'pull-failed',
      `${names}: ${isKnown ? sentence : `the engine rejected the image (${message})`}`,
      { detail: [message] },
    );
  }
  log.progress(100, `loaded ${names} from ${basename(from)}`);
}

const createArchiveError = (from: string, cause: unknown): UpdateError =>
  new UpdateError('not-proven', `${from}: ${(cause as Error).message}`, { cause });

/** Streams a file in the archive, and converts read errors to an UpdateError. @throws UpdateError not-proven */
async function* streamFile(archive: ReleaseArchive, name: string, from: string): AsyncGenerator<Buffer> {
  try {
    yield* archive.stream(name);
  } catch (cause) {
    throw createArchiveError(from, cause);
  }
}

/**
 * Creates the archive for the engine, which is an OCI layout. Older engines do not support OCI layouts, and read
 * `manifest.json` instead. All metadata is generated here, because the release archive's metadata is not signed.
 */
async function* streamImageLayout(
  archive: ReleaseArchive,
  images: ReadonlyMap<string, ArchivedImage>,
  parts: readonly string[],
  onSent: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const manifests = [...images].map(([reference, { root }]) => {
    const { name, tag } = imageNameOf(reference);
    const annotations = {
      [ociLayoutAnnotations.name]: `${name}:${tag}`,
      [ociLayoutAnnotations.tag]: tag,
    };
    return { ...root, annotations };
  });
  const old = [...images].map(([reference, { config, layers }]) => {
    const { repository, tag } = imageNameOf(reference);
    return {
      Config: blobEntryNameOf(config),
      RepoTags: [`${repository}:${tag}`],
      Layers: layers.map(blobEntryNameOf),
    };
  });
  const mediaType = 'application/vnd.oci.image.index.v1+json';
  yield* createTextEntry('oci-layout', '{"imageLayoutVersion":"1.0.0"}');
  yield* createTextEntry('index.json', JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
  yield* createTextEntry('manifest.json', JSON.stringify(old));
  let sent = 0;
  for (const part of parts) {
    const size = blobSizeOf(archive, part);
    yield createTarHeader(blobEntryNameOf(part), size);
    for await (const piece of archive.stream(blobEntryNameOf(part))) {
      yield piece;
      sent += piece.length;
      onSent(sent);
    }
    yield Buffer.alloc(tarPaddingSizeOf(size));
  }
  yield tarTrailer;
}

const createTextEntry = (name: string, text: string): Buffer[] => createTarEntry(name, Buffer.from(text));

/**
 * Parses a reference. `name` includes the registry, as containerd requires. `repository` omits a default registry, as
 * older engines require.
 */
function imageNameOf(reference: string): { name: string; repository: string; tag: string } {
  const { repository = reference, tag } = parseImageReference(reference) ?? {};
  const short = shortRepositoryOf(repository);
  const [first = ''] = short.split('/');
  const hasHost = short.includes('/') && (/[.:]/.test(first) || first === 'localhost');
  const inHub = short.includes('/') ? `docker.io/${short}` : `docker.io/library/${short}`;
  return { name: hasHost ? short : inHub, repository: short, tag: tag ?? 'latest' };
}

const archiveSizeOf = ({ entries }: ReleaseArchive): number =>
  [...entries.values()].reduce((sum, { size }) => sum + size, 0);

/** Creates a function that logs at most one line per second, and nothing in the first second. */
function createLoadReporter(
  log: PullLog,
  from: string,
  done: string,
  whole: number,
): (bytes: number) => void {
  let toldAt = performance.now();
  const megabytes = (bytes: number) => Math.round(bytes / 1_000_000);
  return (bytes) => {
    if (performance.now() - toldAt < progressEveryMs) return;
    toldAt = performance.now();
    log.info(`${basename(from)}: ${megabytes(bytes)} of ${megabytes(whole)} MB ${done}`);
  };
}
