// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProjectFiles } from '../../../../../src/core/compose/project-files.ts';
import type { Image } from '../../../../../src/engine/objects/container.ts';
import type { Installation } from '../../../../../src/updater/compose/inspect/installation.ts';
import {
  draftFileChanges,
  hasChangesFromPulledImages,
} from '../../../../../src/updater/compose/plan/files/draft-file-changes.ts';
import type { ComposeFileReplacement } from '../../../../../src/updater/compose/plan/release/plan-compose-file-replacements.ts';
import { at, composeText, generated, imageOf, installed, planTo } from '../../../../build-plan.ts';

const digest = { old: `sha256:${'a'.repeat(64)}`, new: `sha256:${'b'.repeat(64)}` };
interface PulledFacts {
  images: ReadonlyMap<string, Image>;
  release: readonly ComposeFileReplacement[];
}
const nothing: PulledFacts = { images: new Map(), release: [] };
type Texts = Record<string, string>;

const app = (reference: string) => composeText({ app: reference });

/** The changed texts by file name, and the expected image of each service. */
function drafted(from: Installation, to: string | null, pulled: PulledFacts = nothing) {
  const { draft, expected } = draftFileChanges(planTo(to, from), pulled.images, pulled.release);
  const after = Object.fromEntries(draft.changes.map(({ path, after }) => [relative(at(''), path), after]));
  return { after, references: Object.fromEntries(expected.images) };
}

describe('needsImages', () => {
  const both = (worker: string) => composeText({ app: 'acme/svc:v1.0.0', worker });
  it.each<[string, Installation['kind'], string, boolean]>([
    ['tags alone', 'user-written', both('acme/svc:v1.0.0'), false],
    ['a digest beside any tag', 'user-written', both(`acme/svc:v1.0.0@${digest.old}`), true],
    ['a generated file', 'generated', both('acme/svc:v1.0.0'), true],
  ])('decides whether the draft needs pulled images: %s, %s', (_, kind, text, expected) => {
    const from = installed({ 'compose.yaml': text }, { kind });
    expect(hasChangesFromPulledImages(planTo('v1.1.0', from))).toBe(expected);
  });
});

describe('draftFiles of a user-written install', () => {
  const worker = (tag: string, other: string) =>
    composeText({ app: `acme/svc:${tag}`, worker: `acme/svc:${other}` });
  const shared = worker('${SVC_VERSION}', '${SVC_VERSION}');
  it.each<[string, Texts, string | null, Texts, Texts]>([
    ['no tag, pulled again', { 'compose.yaml': app('acme/svc') }, null, {}, { app: 'acme/svc' }],
    [
      'one place for both',
      { 'compose.yaml': shared, '.env': 'SVC_VERSION=v1.0.0' },
      'v1.1.0',
      { '.env': 'SVC_VERSION=v1.1.0' },
      { app: 'acme/svc:v1.1.0', worker: 'acme/svc:v1.1.0' },
    ],
    [
      'a place each',
      { 'compose.yaml': worker('v1.0.0', '1.0.0') },
      'v1.1.0',
      { 'compose.yaml': worker('v1.1.0', '1.1.0') },
      { app: 'acme/svc:v1.1.0', worker: 'acme/svc:1.1.0' },
    ],
  ])('updates %s', (_, texts, to, after, references) => {
    expect(drafted(installed(texts), to)).toEqual({ after, references });
  });

  it('does not change an unused version variable', () => {
    const texts = { 'compose.yaml': app('acme/svc:v1.0.0'), '.env': 'SVC_VERSION=v1.0.0' };
    expect(drafted(installed(texts), 'v1.1.0').after).toEqual({ 'compose.yaml': app('acme/svc:v1.1.0') });
  });
});

describe('draftFiles of a pin with a digest', () => {
  const pulled = (tag: string, digests: string[]): PulledFacts => ({
    images: new Map<string, Image>([[`acme/svc:${tag}`, imageOf('sha256:new', '1.1.0', { digests })]]),
    release: [],
  });
  it.each<[string, string, string | null, string[], string]>([
    [
      'of its repository under its whole name',
      `v1.0.0@${digest.old}`,
      'v1.1.0',
      [`big-acme/svc@${digest.old}`, `docker.io/acme/svc@${digest.new}`],
      `v1.1.0@${digest.new}`,
    ],
    [
      'of a tag that is pulled again',
      `latest@${digest.old}`,
      null,
      [`acme/svc@${digest.new}`],
      `latest@${digest.new}`,
    ],
  ])('uses the digest %s', (_, tag, to, digests, expected) => {
    const from = installed({ 'compose.yaml': app(`acme/svc:${tag}`) });
    expect(drafted(from, to, pulled(expected.split('@')[0] ?? '', digests))).toEqual({
      after: { 'compose.yaml': app(`acme/svc:${expected}`) },
      references: { app: `acme/svc:${expected}` },
    });
  });

  it('fails if the image has no digest', () => {
    const from = installed({ 'compose.yaml': app(`acme/svc:v1.0.0@${digest.old}`) });
    const message =
      'the engine has no digest for acme/svc:v1.1.0, but image of app in compose.yaml line 3 pins a digest';
    expect(() => drafted(from, 'v1.1.0', pulled('v1.1.0', []))).toThrow(
      expect.objectContaining({ code: 'pin-unsupported', message }),
    );
  });
});

describe('draftFiles of a generated install', () => {
  const own = generated({
    app: 'acme/svc:${SVC_VERSION:-latest}',
    worker: 'acme/svc:${SVC_VERSION:-latest}',
  });
  const next = generated({ app: 'acme/svc:${SVC_VERSION:?}', worker: 'acme/next:${SVC_VERSION:?}' });
  const ships = (text: string, name = 'compose.yaml'): ComposeFileReplacement => ({
    path: at(name),
    text,
    description: `${name}: replaced with the file from the new release`,
  });
  const release = (...texts: ComposeFileReplacement[]): PulledFacts => ({
    images: new Map(),
    release: texts,
  });
  const install = (files: Texts | ProjectFiles) => installed(files, { kind: 'generated' });
  const references = { app: 'acme/svc:v1.1.0', worker: 'acme/next:v1.1.0' };

  it('installs the file of the release and sets the version in place', () => {
    const from = install({ 'compose.yaml': own, '.env': 'A=1\nSVC_VERSION=v1.0.0\n' });
    expect(drafted(from, 'v1.1.0', release(ships(next)))).toEqual({
      after: { 'compose.yaml': next, '.env': 'A=1\nSVC_VERSION=v1.1.0\n' },
      references,
    });
  });

  it('sets the variable that the operator specifies', () => {
    const text = (name: string) => generated({ app: `acme/svc:\${${name}:-latest}` });
    const from = installed({ 'compose.yaml': text('TAG') }, { kind: 'generated', versionVariable: 'TAG' });
    expect(drafted(from, 'v1.1.0').after).toEqual({ '.env': 'TAG=v1.1.0\n' });
  });

  it('also changes the pin in an override file', () => {
    const override = (tag: string) => ({ 'compose.override.yaml': app(`acme/svc:${tag}`) });
    const from = install({ 'compose.yaml': own, '.env': 'SVC_VERSION=v1.0.0', ...override('1.0.0-alpine') });
    expect(drafted(from, 'v1.1.0', release(ships(next)))).toEqual({
      after: { 'compose.yaml': next, '.env': 'SVC_VERSION=v1.1.0', ...override('1.1.0-alpine') },
      references: { ...references, app: 'acme/svc:1.1.0-alpine' },
    });
  });

  it('treats a new included file as a compose file, not as an env file', () => {
    const main = '# svc:generated\ninclude: [compose.cluster.yaml]\n';
    const from = install({ 'compose.yaml': own, '.env': 'SVC_VERSION=v1.0.0' });
    const { files } = draftFileChanges(
      planTo('v1.1.0', from),
      new Map(),
      release(ships(main), ships(next, 'compose.cluster.yaml')).release,
    ).draft;
    expect(files.linkedFiles?.map(({ path }) => path)).toEqual([at('compose.cluster.yaml')]);
    expect(files.envFiles.map(({ path }) => path)).toEqual([at('.env')]);
  });

  it('refuses a new file without the app, and expects no image of a worker that the release removed', () => {
    const from = install({ 'compose.yaml': own, '.env': 'SVC_VERSION=v1.0.0' });
    const message = "the release's compose file has no service app, which is running here";
    expect(() =>
      drafted(from, 'v1.1.0', release(ships(generated({ worker: 'acme/svc:${SVC_VERSION}' })))),
    ).toThrow(expect.objectContaining({ code: 'release-file', message }));
    const dropped = drafted(from, 'v1.1.0', release(ships(generated({ app: 'acme/svc:${SVC_VERSION}' }))));
    expect(dropped.references).toEqual({ app: 'acme/svc:v1.1.0' });
  });
});
