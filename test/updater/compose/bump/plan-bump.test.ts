// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Engine } from '../../../../src/engine/cli/engine.ts';
import { planBump } from '../../../../src/updater/compose/bump/plan-bump.ts';
import { bumpOptions, composeText, projectFiles, rememberingLog } from '../../../build-plan.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

/**
 * Replaces `docker compose config`: prints the model of one simple file without variables except the project name.
 * Rejects a file that contains `# reject`. Applies the sed script in the file `other` to the model.
 */
const fakeCompose = String.raw`#!/bin/sh
for word; do
  [ "$before" = --file ] && file=$word
  before=$word
done
if grep -q '# reject' "$file"; then
  echo 'it is rejected' >&2
  exit 1
fi
awk '
  { gsub(/\$\{COMPOSE_PROJECT_NAME\}/, "acme"); key = substr($1, 1, length($1) - 1) }
  /^x-/ { anchor = $3 }
  /^  [a-z]+:$/ { out = out (out ? "}," : "") "\"" key "\":{"; comma = "" }
  /^    [a-z]+: / { out = out comma "\"" key "\":\"" ($2 == "*i" ? anchor : $2) "\""; comma = "," }
  END { print "{\"name\":\"acme\",\"services\":{" out "}}}" }
' "$file" | sed "$(cat "$(dirname "$0")/other")"
`;

let root = '';
const { PATH } = process.env;
beforeEach(async () => {
  root = await temporaryDirectory();
  await mkdir(join(root, 'svc'));
  await writeFile(join(root, 'other'), '');
  await writeFile(join(root, 'docker'), fakeCompose);
  await chmod(join(root, 'docker'), 0o755);
  process.env.PATH = `${root}:${PATH}`;
});
afterEach(() => {
  process.env.PATH = PATH;
});

/** The new text or null, the number of edits, and the log. */
async function planned(text: string, argv: string[], to = 'v1.1.0') {
  const engine = new Engine({ host: 'unix:///nonexistent', tls: [], configDirectory: root }, { home: root });
  const directory = join(root, 'svc');
  const path = join(directory, 'compose.yaml');
  const files = projectFiles(
    {},
    { composeFiles: [{ path, text }], newEnvFile: join(directory, '.env'), directory },
  );
  const { log, lines } = rememberingLog();
  const { draft, edits } = await planBump(files, engine, bumpOptions('--to', to, ...argv), log);
  return { text: draft.changes[0]?.after ?? null, edits: edits.length, lines };
}

const digest = { old: `sha256:${'a'.repeat(64)}`, new: `sha256:${'b'.repeat(64)}` };
const app = (reference: string) => composeText({ app: reference });
const both = (one: string, other = one) => composeText({ app: one, worker: other });
const services = (...names: string[]) => names.flatMap((name) => ['--service', name]);

describe('planBump', () => {
  it.each<[string, string, string[], string | null, string[]]>([
    ['one service', both('acme/svc:v1.0.0'), services('app'), both('acme/svc:v1.1.0', 'acme/svc:v1.0.0'), []],
    [
      'what shares the text',
      `x-i: &i acme/svc:v1.0.0\n${composeText({ app: '*i', cron: '*i' })}`,
      services('app'),
      `x-i: &i acme/svc:v1.1.0\n${composeText({ app: '*i', cron: '*i' })}`,
      ['info: cron uses the same pin, so its version also changes'],
    ],
    [
      "the project's own name, which compose tells",
      app('${COMPOSE_PROJECT_NAME}/svc:v1.0.0'),
      services('app'),
      app('${COMPOSE_PROJECT_NAME}/svc:v1.1.0'),
      [],
    ],
  ])('changes the pin: %s', async (_, text, argv, after, lines) => {
    expect(await planned(text, argv)).toEqual({
      text: after,
      edits: after === null ? 0 : expect.any(Number),
      lines,
    });
  });

  it.each<[string, string, string | null, string[]]>([
    ['acme/home:2025.8.3', '2025.8.4', 'acme/home:2025.8.4', []],
    ['acme/home:31.0.9-apache', 'v32.0.1', 'acme/home:32.0.1-apache', []],
    ['acme/home:2', '1', 'acme/home:1', ['warn: 1 is older than 2; migrations cannot be undone']],
    [
      'acme/home:2',
      '2.5.1',
      null,
      ['info: app uses the floating tag 2 (image of app in compose.yaml line 3); nothing to change'],
    ],
  ])('keeps the format of the pin when changing %s to %s', async (from, to, after, lines) => {
    const result = await planned(app(from), services('app'), to);
    expect([result.text, result.lines]).toEqual([after === null ? null : app(after), lines]);
  });
});

describe('planBump rejects', () => {
  const refusal = (code: string, message: string, advice: unknown = expect.any(String)) =>
    expect.objectContaining({ code, message, advice });

  it.each<[string, string, string[], ReturnType<typeof refusal>]>([
    [
      'a tag of another kind',
      app('acme/svc:edge'),
      services('app'),
      refusal(
        'pin-unsupported',
        'app is pinned to edge (image of app in compose.yaml line 3), which is not a release tag',
        'Set a release tag manually, such as v1.2.3. After that, bump can change it.',
      ),
    ],
    [
      'a digest without a new one',
      app(`acme/svc:v1.0.0@${digest.old}`),
      services('app'),
      refusal(
        'pin-digest',
        'image of app in compose.yaml line 3 also pins a digest, but the new digest is unknown',
      ),
    ],
    [
      'one digest for two images',
      both(`acme/svc:v1.0.0@${digest.old}`, `acme/worker:v1.0.0@${digest.old}`),
      ['--digest', digest.new, ...services('app', 'worker')],
      refusal(
        'pin-digest',
        'acme/svc and acme/worker cannot share one digest',
        'Run bump separately for each image, with the digest of its new release.',
      ),
    ],
    [
      'what compose rejects, before anything else',
      `${app('acme/svc:edge')}# reject\n`,
      services('mailer'),
      refusal('compose-invalid', 'compose rejects the project: it is rejected'),
    ],
  ])('%s', async (_, text, argv, expected) => {
    await expect(planned(text, argv)).rejects.toThrow(expected);
  });

  it('a complete version for a partial pin', async () => {
    const expected = refusal(
      'pin-unsupported',
      'app is pinned to 2025.10 (image of app in compose.yaml line 3) and can only be changed to a tag in the same format',
      'Run the update command, which checks the registry, or wait until 2025.11 points to the release and specify that tag with --to.',
    );
    await expect(planned(app('acme/home:2025.10'), services('app'), '2025.11.1')).rejects.toThrow(expected);
  });

  it('a pin that compose reads differently', async () => {
    await writeFile(join(root, 'other'), 's/v1.0.0/v1.0.1/');
    const expected = refusal(
      'pin-unsupported',
      'compose resolves the image of app to acme/svc:v1.0.1, but image of app in compose.yaml line 3 resolves to acme/svc:v1.0.0',
    );
    await expect(planned(app('acme/svc:v1.0.0'), services('app'))).rejects.toThrow(expected);
  });

  it('an edit that would change more than the version', async () => {
    const text = 'x-i: &i acme/svc:v1.0.0\nservices:\n  app:\n    image: *i\n    hostname: *i\n';
    const expected = {
      code: 'proof-failed',
      detail: ['services.app.hostname: "acme/svc:v1.0.0" → "acme/svc:v1.1.0"'],
    };
    await expect(planned(text, services('app'))).rejects.toMatchObject(expected);
  });
});
