// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import type { Where } from '../e2e/support/bump.ts';
import { updaterImage } from '../rig/updater-run.ts';
import {
  app,
  bumped,
  expectBumped,
  fresh,
  image,
  inProject,
  type Layout,
  layouts,
  old,
  one,
  texts,
  textsOf,
} from './support/forms.ts';

describe.concurrent('bump moves the version and nothing else', () => {
  it.each(Object.entries(layouts))('%s', (_, layout) => expectBumped(layout));
});

const byHand = 'Change the version there by hand, then docker compose pull && docker compose up -d.';
const mend = 'Mend the file until docker compose config accepts it, then run the update again.';
const mergesNone =
  'This compose merges no service with an included one of its name: move what the main file says of it to ' +
  'compose.override.yaml, which may override it, start the instance once with docker compose up -d, then run the ' +
  'update again.';
const putThere = 'Put the file there, or take the line out.';
const ownVariable = 'Give the version a variable of its own there, then run it again.';

const refusals: Record<string, [Layout, sentence: string, wayOut: string]> = {
  'a variable that is part of a path': [
    image('svc:$V\n    volumes: ["./data-$V:/data"]', 'V=v1.4.2'),
    'V in .env line 1 decides more than the version: services.app.volumes.0.source: "@root@/p/data-v1.4.2" → "@root@/p/data-v1.5.0"',
    ownVariable,
  ],
  'an include in a circle': [
    {
      files: {
        'compose.yaml': `include: [a.yaml]\n${app('svc:v1.4.2')}`,
        'a.yaml': 'include: [compose.yaml]\n',
      },
    },
    'compose rejects the project: include @root@/p/compose.yaml',
    mend,
  ],
  'an include that is not there': [
    one('services: {app: {image: "svc:v1.4.2"}}\ninclude:\n  - sub/a.yaml\n'),
    'compose.yaml line 3: include @root@/p/sub/a.yaml does not exist',
    putThere,
  ],
  'a line feed behind the tag': [
    image('|\n      svc:v1.4.2'),
    'image of app in compose.yaml line 4 resolves to "svc:v1.4.2⏎", which is no image reference',
    mend,
  ],
  'a reading that compose does not share': [
    one(
      'services:\n  app: {extends: base}\n  base: {image: "svc:v1.4.2"}\n---\nservices:\n  base: {image: "svc:v1.4.3"}\n',
    ),
    'compose resolves the image of app to svc:v1.4.2, image of app in compose.yaml line 6 says svc:v1.4.3',
    byHand,
  ],
};

/** Services of a file and of what it includes: compose 5.2 and later merge them, an older one rejects the project. */
const merged: Record<string, Layout> = {
  'the image of both': {
    files: { 'compose.yaml': `include: [a.yaml]\n${app('svc:v§')}`, 'a.yaml': app('svc:v1.4.3') },
  },
  'the image of what is included': {
    files: {
      'compose.yaml': 'include: [a.yaml]\nservices: {app: {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
  'an image, and one that is extended': {
    files: {
      'compose.yaml': 'include: [a.yaml]\nservices: {app: {extends: base}, base: {image: "svc:v1.4.3"}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
  'an image of each of two': {
    files: {
      'compose.yaml': 'include: [a.yaml, b.yaml]\nservices: {app: {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
      'b.yaml': app('svc:v1.4.3'),
    },
  },
  'an image, and one that is to replace what earlier files say': {
    files: {
      'compose.yaml': app('svc:v1.4.3'),
      'compose.override.yaml': 'include: [a.yaml]\nservices: {app: !override {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
};

describe.concurrent('a service that is included and written is bumped as compose reads it', () => {
  const both = (['image', 'host'] as const).map((where) =>
    Object.entries(merged).map((row) => [where, ...row] as const),
  );
  it.each(both.flat())('%s: %s', async (where, _, layout) => {
    await inProject(layout, async (directory, root) => {
      const before = await imageBy(where, directory);
      const { exitCode, log } = await bumped(directory, { ...layout, where });
      if (before === null) {
        expect({ exitCode, log }).toMatchObject({ exitCode: 3, log: expect.stringContaining(mergesNone) });
        expect(log).toContain('compose rejects the project: services.app conflicts with imported resource');
        expect(await textsOf(directory, layout)).toEqual(texts(layout, root, old));
      } else {
        expect(before).toBe(`svc:v${old.version}`);
        expect({ exitCode, log }).toMatchObject({ exitCode: 0 });
        expect(await textsOf(directory, layout)).toEqual(texts(layout, root, fresh));
        expect(await imageBy(where, directory)).toBe(`svc:v${fresh.version}`);
      }
    });
  });
});

describe.concurrent('bump refuses, says where and what to do, and writes nothing', () => {
  it.each(Object.entries(refusals))('%s', async (_, [layout, sentence, wayOut]) => {
    await inProject(layout, async (directory, root) => {
      const { exitCode, log } = await bumped(directory, layout);
      const lines = log
        .split('\n')
        .map((line) =>
          line.replace(/^\S+ (?=ERROR)/, '').replace(/(?<=^ERROR done refused )\([a-z-]+\)/, '(code)'),
        );
      expect({ exitCode, said: lines.slice(-2) }).toEqual({
        exitCode: 3,
        said: [
          `ERROR plan ${sentence.replaceAll('@root@', root)}`,
          `ERROR done refused (code): nothing was changed. Next: ${wayOut.replaceAll('@root@', root)}`,
        ],
      });
      expect(await textsOf(directory, layout)).toEqual(texts(layout, root, old));
    });
  });
});

/**
 * The image of the app, by the compose that the bump has; null where it rejects the project. On the host the bump has a
 * client configuration of its own, and so perhaps another plugin than whoever types the command.
 */
async function imageBy(where: Where, directory: string): Promise<string | null> {
  const asked = ['compose', 'config', '--format', 'json'];
  const inside = ['--rm', '--network', 'none', '-v', `${directory}:${directory}`, '-w', directory];
  const command =
    where === 'host'
      ? ['--config', `${directory}/none`, ...asked]
      : ['run', ...inside, '--entrypoint', 'docker', updaterImage, ...asked];
  const { exitCode, stdout } = await execa('docker', command, { cwd: directory, reject: false });
  return exitCode === 0 ? JSON.parse(stdout).services.app.image : null;
}
