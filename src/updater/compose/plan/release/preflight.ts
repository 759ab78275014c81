import * as z from 'zod/mini';
import { findServicesByEnvFile } from '../../../../core/compose/include-tree.ts';
import { createVariableLookup, listEnvFileValues } from '../../../../core/compose/variables.ts';
import { isWithin } from '../../../../core/mounts/host-paths.ts';
import { createJsonTextSchema } from '../../../../core/text/json-text.ts';
import type { AttachedCommandResult } from '../../../../engine/cli/run-attached-command.ts';
import { type Image, parseEnvironment, type StorageMount } from '../../../../engine/objects/container.ts';
import { type Json, toObject, toStrings } from '../../../../engine/objects/json.ts';
import type { PreparedPlan } from '../prepared-plan.ts';

const memory = 512 * 1024 ** 2;

/**
 * Builds the container for a preflight command, in the engine's format. The container has the app's environment,
 * networks and data, but cannot change files. Proxies do not mistake it for the app. Never log the definition, because
 * it contains environment values.
 */
export function createPreflightContainerSpec(plan: PreparedPlan, image: Image, command: readonly string[]) {
  const { name, containers } = plan.installation.app;
  const { storage = [], networks = [], networkMode = '', extraHosts = [] } = containers[0] ?? {};
  const { user, group_add, platform } = toObject(plan.model.services[name]);
  const isShared = /^(?:host$|none$|container:)/.test(networkMode);
  const [first = networkMode, ...moreNetworks] = networks;
  return {
    platform: platform == null ? null : String(platform),
    config: {
      Entrypoint: command,
      Cmd: [],
      Env: [...environmentOf(plan)].map(([key, value]) => `${key}=${value}`),
      ...(user != null && { User: String(user) }),
      Healthcheck: { Test: ['NONE'] },
      Labels: Object.fromEntries(Object.keys(image.labels).map((label) => [label, ''])),
      AttachStdout: true,
      AttachStderr: true,
    },
    hostConfig: {
      NetworkMode: first,
      ...(!isShared && { ExtraHosts: extraHosts }),
      Mounts: storage.filter(isData).map(readOnly),
      Tmpfs: { '/tmp': '' },
      GroupAdd: toStrings(group_add),
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: 256,
      LogConfig: { Type: 'none' },
    },
    moreNetworks,
  };
}

const isOfRun = (path: string): boolean => isWithin(path, '/run') || isWithin(path, '/var/run');

/**
 * Whether a mount contains data. Sockets and directories with sockets are excluded: a read-only mount does not prevent
 * their use.
 */
const isData = ({ type, source, destination }: StorageMount): boolean =>
  (type === 'volume' || (type === 'bind' && !['/', '/var'].includes(source) && !isOfRun(source))) &&
  (!isOfRun(destination) || isWithin(destination, '/run/secrets')) &&
  destination !== '/tmp' &&
  !source.endsWith('.sock');

const readOnly = ({ type, source, destination, subpath }: StorageMount): Json => ({
  ...{ Type: type, Source: source, Target: destination, ReadOnly: true },
  // The engine must not fill an empty volume with files from the image.
  ...(type === 'volume' && { VolumeOptions: { NoCopy: true, ...(subpath && { Subpath: subpath }) } }),
});

/**
 * Returns the environment of the app's next container. Values from changed env files are added, because compose's model
 * does not contain them yet.
 */
function environmentOf({ installation, model, changes }: PreparedPlan): Map<string, string> {
  const { app, requests: sent, files, model: before } = installation;
  const values = parseEnvironment(toStrings(sent.get(app.name)?.body.Env));
  for (const key of Object.keys(before.services[app.name]?.environment ?? {})) values.delete(key);
  for (const [key, value] of Object.entries(model.services[app.name]?.environment ?? {}))
    values.set(key, (value ?? '').replaceAll('$$', '$'));
  for (const { path, before: text, after } of changes) {
    if (!findServicesByEnvFile(files, [path]).includes(app.name)) continue;
    const [old, now] = [text ?? '', after].map((each) => createVariableLookup([{ path, text: each }]));
    for (const { key } of listEnvFileValues([{ path, text: after }]))
      if ([undefined, old?.(key)?.text].includes(values.get(key))) values.set(key, now?.(key)?.text ?? '');
  }
  // Reverse proxies use these variables to find containers, and must not forward requests to this container.
  for (const key of values.keys()) if (/^(?:VIRTUAL_|LETSENCRYPT_)/.test(key)) values.delete(key);
  return values;
}

const level = z.enum(['pass', 'warn', 'fail']);
const text = z.string();
const resultSchema = createJsonTextSchema(
  z.object({ level, check: text, message: text, advice: z.optional(text) }),
);

const maxRows = 100;
const maxPrinted = 20;
const widest = 30;

/** Converts a preflight command's output to table rows and a failure. The failure is null if the update may start. */
export function evaluatePreflightResult({ exitCode, lines }: AttachedCommandResult) {
  const read = lines.map((line) => ({ line, result: resultSchema.safeParse(line).data }));
  const results = read.flatMap(({ result }) => result ?? []);
  const width = Math.min(widest, Math.max(0, ...results.map(({ check }) => check.length)));
  const rows = results
    .slice(0, maxRows)
    .map(({ level, check, message }) => ({ level, text: `${level}  ${check.padEnd(width)}  ${message}` }));
  const failed = results.filter((result) => result.level === 'fail').slice(0, maxRows);
  if (failed.length === 0 && exitCode === 0) return { rows, failure: null };
  const ended = exitCode === null ? 'did not finish within 60 s' : `exited with ${exitCode}`;
  const sentences = failed.map((result) => `${result.check}: ${result.message}`);
  const [message = `the preflight command ${ended}`, ...detail] = sentences;
  const printed = read.flatMap(({ line, result }) => (result || line.trim() === '' ? [] : [line]));
  const advice = failed[0]?.advice;
  const failure = { message, detail: [...detail, ...printed.slice(-maxPrinted)], ...(advice && { advice }) };
  return { rows, failure };
}
