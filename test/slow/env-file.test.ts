// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyTextEdits } from '../../src/core/compose/edit.ts';
import { createVariableEdit, parseEnvAssignments } from '../../src/core/compose/env-file.ts';
import { interpolate } from '../../src/core/compose/interpolation.ts';
import { createSourceMappedText } from '../../src/core/compose/source-map.ts';
import { createVariableLookup } from '../../src/core/compose/variables.ts';
import { inDirectory } from '../e2e/support/bump.ts';
import { anyEnvFiles, anyTemplate } from '../fuzz/env-texts.ts';
import {
  type Answer,
  base,
  handPicked,
  names,
  ours,
  placeOf,
  type Question,
  values,
} from '../recorded/env-file.ts';
import { Recording } from '../recorded/recording.ts';
import { updaterImage } from '../rig/updater-run.ts';

// Compares our reading of env files and interpolation with the compose of the image. test/recorded/env-file.test.ts
// uses the recorded results of the selected cases. SVC_TEST_SEED and SVC_TEST_RUNS set other and more random cases.

const seed = Number(process.env.SVC_TEST_SEED ?? 20_261_121);
const scale = Number(process.env.SVC_TEST_RUNS ?? 1);

describe('the updater and compose agree on the values of', () => {
  test('selected env files and templates', async () => {
    const recording = new Recording<Answer>('env-file');
    await expectSame(handPicked, {}, recording);
    recording.write();
  });

  test('random templates', async () => {
    const found = fc.sample(anyTemplate, { seed, numRuns: 250 * scale });
    await expectSame(
      found.map((template) => ({ envFiles: [base], templates: { template } })),
      { rejected: 12 * scale },
    );
  });

  test('random env files', async () => {
    const found = fc.sample(anyEnvFiles, { seed, numRuns: 300 * scale });
    await expectSame(
      found.map((envFiles) => values(...envFiles)),
      { rejected: 12 * scale, alone: 4 * scale },
    );
  });
});

test('compose reads exactly the new value of an edited variable, and no other value changes', async () => {
  const anyLine = fc.string({
    unit: fc.constantFrom(...'\'"\\$`#= ab{}:-é\u2028nt0'),
    minLength: 1,
    maxLength: 12,
  });
  const anyValue = fc.oneof(fc.constant('v9.8.7-rc.1+b'), anyLine);
  const edited = fc
    .sample(fc.tuple(anyEnvFiles, anyValue), { seed: seed + 1, numRuns: 140 * scale })
    .filter(([envFiles]) => ours(values(...envFiles)) !== null)
    .flatMap(([envFiles, wanted]) => {
      const files = envFiles.map((text, i) => ({ path: `/${i}.env`, text }));
      const edit = createVariableEdit({ envFiles: files, newEnvFile: '/new.env' }, 'V', wanted);
      const holder = files.find(({ path }) => path === edit.file);
      if (!holder) throw new Error('no file');
      const text = applyTextEdits(holder.text, [edit]);
      const after = files.map((file) => (file === holder ? text : file.text));
      // Compose accepts spaces in a name at the end of a file, but not if a line follows; in that case, we reject the
      // file too.
      return endsInName(holder.text) && !ours(values(...after)) ? [] : [{ before: envFiles, after, wanted }];
    });
  expect(edited.length).toBeGreaterThan(60);
  const questions = edited.flatMap(({ before, after }) => [values(...before), values(...after)]);
  const answers = await askCompose(questions, new Set());
  for (const [i, { before, after, wanted }] of edited.entries()) {
    const [was, is] = [answers[2 * i], answers[2 * i + 1]];
    if (!was || !is) continue;
    const hint = `seed ${seed}: ${shown({ before, after, wanted })}`;
    const free = names.filter((name) => !mentioning('V', after).has(name));
    expect(is.V, hint).toBe(wanted);
    for (const name of free) expect(is[name], `${name}, ${hint}`).toBe(was[name]);
  }
});

/** The variables whose values may depend on this variable: their assigned text contains its letter. */
function mentioning(name: string, envFiles: readonly string[]): Set<string> {
  const found = new Set([name]);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const text of envFiles) {
      for (const { key, start, end } of parseEnvAssignments({ path: '', text })) {
        if ([...found].some((other) => text.slice(start, end).includes(other))) found.add(key);
      }
    }
  }
  return found;
}

/**
 * Compose reads the env files of its command line a second time, with all their values in its environment. It then
 * misses a required variable that is set and later set to an empty value. This is rare enough to leave to compose.
 */
function missesLater({ envFiles }: Question): boolean {
  try {
    const files = envFiles.map((text, i) => ({ path: `/${i}.env`, text }));
    const last = createVariableLookup(files);
    for (const file of files) {
      for (const { start, end, quote } of parseEnvAssignments(file)) {
        const template = createSourceMappedText(file.text.slice(start, end), file.path, start, {
          via: 'text',
        });
        if (quote !== "'") interpolate(template, last, 'here');
      }
    }
    return false;
  } catch {
    return true;
  }
}

function endsInName(text: string): boolean {
  try {
    const ended = parseEnvAssignments({ path: '', text: `${text}=` });
    return parseEnvAssignments({ path: '', text }).length < ended.length && ended.at(-1)?.key !== '';
  } catch {
    return true;
  }
}

async function expectSame(
  questions: readonly Question[],
  most: { rejected?: number; alone?: number } = {},
  recording?: Recording<Answer>,
): Promise<void> {
  const all = questions.map((question) => ({ question, answer: ours(question) }));
  const accepted = all.filter(({ question, answer }) => answer !== null && !missesLater(question));
  const rejected = all.filter(({ answer }) => answer === null).slice(0, most.rejected);
  expect(Math.min(accepted.length, rejected.length)).toBeGreaterThan(10);
  const asked = [...accepted, ...rejected];
  const alone = [...accepted.slice(0, most.alone ?? 0), ...rejected].map(({ question }) => question);
  const answers = await askCompose(
    asked.map(({ question }) => question),
    new Set(alone),
  );
  const differences = asked
    .map(({ question, answer }, i) => ({ question, ours: answer, compose: answers[i] }))
    .filter(({ ours: mine, compose }) => JSON.stringify(mine) !== JSON.stringify(compose))
    .map((difference) => shown(difference))
    .sort((a, b) => a.length - b.length);
  expect(differences.slice(0, 5), `seed ${seed}, ${differences.length} differ`).toEqual([]);
  for (const [i, { question }] of asked.entries()) recording?.hold(...placeOf(question), answers[i] ?? null);
}

const shown = (value: unknown) =>
  JSON.stringify(value).replace(
    /[\x7f-\xa0\u180e\u2000-\u2029\u3000\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

// One call reads many cases, each as an included file with its own env files, which compose evaluates in the same way.
const batch = 60;

const script = `
  for directory in "$1"/*/; do
    cd "$directory" || exit
    set --
    for file in main*.env; do set -- "$@" --env-file "$file"; done
    docker compose "$@" -f compose.json config --format json >out 2>err </dev/null || rm out
  done`;

/** The results of compose. The cases in `alone` run separately, through `--env-file`. */
async function askCompose(questions: readonly Question[], alone: ReadonlySet<Question>): Promise<Answer[]> {
  return inDirectory(async (directory) => {
    const together = questions.filter((question) => !alone.has(question));
    const calls = [...questions.filter((question) => alone.has(question))].map((question) => [question]);
    const single = calls.length;
    for (let i = 0; i < together.length; i += batch) calls.push(together.slice(i, i + batch));
    await Promise.all(
      calls.map((call, i) => writeCall(join(directory, `${i}`.padStart(5, '0')), call, i < single)),
    );
    const mount = ['-v', `${directory}:${directory}`, '--entrypoint', 'sh', updaterImage];
    await execa('docker', ['run', '--rm', '--network', 'none', ...mount, '-c', script, 'sh', directory]);
    const answers = new Map<Question, Answer>();
    for (const [i, call] of calls.entries()) {
      const out = join(directory, `${i}`.padStart(5, '0'), 'out');
      const text = await readFile(out, 'utf8').catch(() => null);
      const services = text === null ? null : JSON.parse(text).services;
      const said = await readFile(join(out, '../err'), 'utf8');
      if (!services && (i >= single || !/failed to read |interpolat/.test(said))) {
        throw new Error(`seed ${seed}: ${said} ${call.length === 1 ? shown(call) : ''}`);
      }
      for (const [number, question] of call.entries()) {
        answers.set(question, services ? labelsOf(question, services[`s${number}`]) : null);
      }
    }
    return questions.map((question) => answers.get(question) ?? null);
  });
}

function labelsOf({ templates }: Question, service: { labels: Record<string, string> }): Answer {
  // The output of compose is a compose file in which `$` is escaped.
  const plain = (name: string) => service.labels[name]?.replaceAll('$$', '$') ?? '<missing>';
  return Object.fromEntries(Object.keys(templates).map((name) => [name, plain(name)]));
}

async function writeCall(directory: string, call: readonly Question[], isSingle: boolean): Promise<void> {
  await mkdir(directory);
  const write = (name: string, text: string) => writeFile(join(directory, name), text);
  const service = ({ templates }: Question, number: number) => ({
    services: { [`s${number}`]: { image: 'x', labels: templates } },
  });
  const [first] = call;
  if (isSingle && first) {
    await write('compose.json', shown({ name: 'p', ...service(first, 0) }));
    await Promise.all(first.envFiles.map((text, i) => write(`main${i}.env`, text)));
    return;
  }
  await write('main.env', '');
  const include = call.map(({ envFiles }, number) => ({
    path: `${number}.json`,
    env_file: envFiles.map((_, i) => `${number}-${i}.env`),
  }));
  await write('compose.json', shown({ name: 'p', include }));
  for (const [number, question] of call.entries()) {
    await write(`${number}.json`, shown(service(question, number)));
    for (const [i, text] of question.envFiles.entries()) await write(`${number}-${i}.env`, text);
  }
}
