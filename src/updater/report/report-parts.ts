import { statfs } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createTarEntry, tarTrailer } from '../../core/files/tar-header.ts';
import { readTextFile } from '../../core/files/text-file.ts';
import { Compose } from '../../engine/cli/compose.ts';
import { listProjectContainers } from '../../engine/containers/project-containers.ts';
import { imageLabelPrefix, internalLabelPrefixes } from '../../engine/objects/labels.ts';
import { lastRunningContainerOf } from '../compose/inspect/create-missing-app-error.ts';
import type { FoundInstance } from '../compose/inspect/find-project/find-instance.ts';
import { parseProjectLabels } from '../compose/inspect/find-project/labeled-project.ts';
import { linkProjectPaths, readProject } from '../compose/inspect/project-files/read-project.ts';
import { requireCompatiblePrograms, updaterVersion } from '../run/environment/program-versions.ts';
import { createEngineRequestMaskRules } from '../run/log/mask-rules.ts';
import type { RunContext } from '../run/run-context.ts';
import { readJournal } from '../run/state/journal.ts';
import {
  logFileName,
  rehearsalLogFileName,
  requireTrustedEntry,
  stateDirectoryOf,
} from '../run/state/state-directory.ts';
import { maskComposeModelValues } from './mask-model-values.ts';

type ReportFileCreator = (context: RunContext, instance: FoundInstance) => Promise<string>;

/** Reads a copy of a log from the state directory. */
const createLogReader =
  (name: string): ReportFileCreator =>
  async (_, { location: { mountedAt } }) => {
    await requireTrustedEntry(mountedAt);
    await requireTrustedEntry(mountedAt, name);
    return (await readTextFile(join(stateDirectoryOf(mountedAt), name))).text;
  };

/**
 * Functions that create a report's files, keyed by file name (docs/contract.md 1.12). Each function may fail, and adds
 * its file's secrets to the log's mask rules.
 */
export const reportFileCreators: Readonly<Record<string, ReportFileCreator>> = {
  [logFileName]: createLogReader(logFileName),
  [rehearsalLogFileName]: createLogReader(rehearsalLogFileName),

  'journal.json': async ({ log }, { location }) => {
    const journal = await readJournal(stateDirectoryOf(location.mountedAt));
    if (journal === null) throw new Error('there is no journal');
    if ('unreadable' in journal) throw new Error(`the journal is not valid: ${journal.mistake}`);
    log.addMaskRules(() =>
      createEngineRequestMaskRules(journal.blueprints.map(({ config }) => ({ body: config }))),
    );
    const { format, run, containerId, attempt, project, target, services, from, state, ...rest } = journal;
    const { started, point, leftAlone, tags, files, containers, changeover: rollout } = rest;
    const facts = { format, run, containerId, attempt, project, target, services, from, state, started };
    return JSON.stringify(
      { ...facts, point, leftAlone, tags, files, containers, changeover: rollout },
      null,
      2,
    );
  },

  'model.json': async ({ engine, log }, { location, paths }) => {
    const { containers } = await listProjectContainers(engine, location.name);
    const telling = lastRunningContainerOf(containers);
    if (telling === undefined) throw new Error('the project has no container');
    const project = parseProjectLabels(telling, location, containers);
    await linkProjectPaths(project, paths, log);
    const about = { containers, services: [] };
    const { model } = await readProject(new Compose(engine, project), paths, about, log);
    return JSON.stringify(maskComposeModelValues(model), null, 2);
  },

  'labels.txt': async ({ engine, options }, { location }) => {
    const { containers, leftovers } = await listProjectContainers(engine, location.name);
    const shown = [...internalLabelPrefixes, imageLabelPrefix, `${options.product.labelPrefix}.`];
    const labelsOf = (labels: Readonly<Record<string, string>> = {}) =>
      Object.entries(labels).map(
        ([key, value]) => `  ${key}=${shown.some((start) => key.startsWith(start)) ? value : '***'}`,
      );
    const all = [...containers, ...leftovers].map(async ({ name, status, health, ...container }) => {
      const [image] = await engine.inspectImages([container.imageId]);
      const head = `${name}: ${status}, ${health ?? 'no health check'}`;
      const from = ` ${container.imageReference}`;
      return [head, ...labelsOf(container.labels), from, ...labelsOf(image?.labels)].join('\n');
    });
    return (await Promise.all(all)).join('\n');
  },

  'disk.txt': async (_, { location }) => {
    const lines = ['/', location.mountedAt].map(async (path) => {
      const { bavail, blocks, bsize, ffree } = await statfs(path);
      return `${path}: ${bavail * bsize} of ${blocks * bsize} bytes free, ${ffree} inodes free`;
    });
    return (await Promise.all(lines)).join('\n');
  },
};

/** Creates a compressed tar archive of texts, keyed by file name. Equal texts always produce equal bytes. */
export function createReportArchive(texts: ReadonlyMap<string, string>): Buffer {
  const parts = [...texts].flatMap(([name, text]) => createTarEntry(name, Buffer.from(text)));
  return gzipSync(Buffer.concat([...parts, tarTrailer]));
}

/** Returns the versions of the programs, engine and kernel. Needs no instance. */
export async function formatReportVersions({ engine, options }: RunContext): Promise<string> {
  const facts = engine.getFacts();
  const { cli, compose } = await requireCompatiblePrograms(engine, facts);
  const { version: engineVersion, platform, api } = await facts;
  const own = `${options.product.name}-updater ${updaterVersion}\ndocker CLI ${cli}\ncompose ${compose}`;
  const apis = `API ${api?.oldest} to ${api?.newest}`;
  return `${own}\nengine ${engineVersion} (${platform}), ${apis}\nkernel Linux ${release()}`;
}
