// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../src/compose/edit.ts';
import { findAssignments, setVariableEdit } from '../../src/compose/env-file.ts';
import { interpolate } from '../../src/compose/interpolation.ts';
import { trace } from '../../src/compose/traced.ts';
import { variablesOf } from '../../src/compose/variables.ts';
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

// Our reading of env files and of interpolation beside that of the real compose: the host's and the image's, which is
// the one to follow, and whose answers test/recorded/env-file.test.ts plays. SVC_TEST_SEED=… SVC_TEST_RUNS=… look elsewhere, and further.

const seed = Number(process.env.SVC_TEST_SEED ?? 20_261_121);
const scale = Number(process.env.SVC_TEST_RUNS ?? 1);

describe('an env file and a template mean to us what they mean to compose', () => {
  test('hand-picked ones', async () => {
    const recording = new Recording<Answer>('env-file');
    await expectSame(handPicked, {}, recording);
    recording.write();
  });

  test('any templates', async () => {
    const found = fc.sample(anyTemplate, { seed, numRuns: 250 * scale });
    await expectSame(
      found.map((template) => ({ envFiles: [base], templates: { template } })),
      { rejected: 12 * scale },
    );
  });

  test('any env files', async () => {
    const found = fc.sample(anyEnvFiles, { seed, numRuns: 300 * scale });
    await expectSame(
      found.map((envFiles) => values(...envFiles)),
      { rejected: 12 * scale, alone: 4 * scale },
    );
  });
});

test('an edited variable is worth exactly the new value to compose, and no other changes', async () => {
  const wanted = 'v9.8.7-rc.1+b';
  const edited = fc
    .sample(anyEnvFiles, { seed: seed + 1, numRuns: 140 * scale })
    .filter((envFiles) => ours(values(...envFiles)) !== null && !holdsUntaken(values(...envFiles)))
    .flatMap((envFiles) => {
      const files = envFiles.map((text, i) => ({ path: `/${i}.env`, text }));
      const edit = setVariableEdit({ envFiles: files, newEnvFile: '/new.env' }, 'V', wanted);
      const holder = files.find(({ path }) => path === edit.file);
      if (!holder) throw new Error('no file');
      const text = applyEdits(holder.text, [edit]);
      const after = files.map((file) => (file === holder ? text : file.text));
      // Compose forgives spaces in a name that ends the file, and not once a line follows; then we refuse too.
      return endsInName(holder.text) && !ours(values(...after)) ? [] : [{ before: envFiles, after }];
    });
  expect(edited.length).toBeGreaterThan(60);
  const questions = edited.flatMap(({ before, after }) => [values(...before), values(...after)]);
  await inBoth(questions, async (asked, answers, where) => {
    const answer = (question: Question | undefined) => question && answers[asked.indexOf(question)];
    for (const [i, { before, after }] of edited.entries()) {
      const [was, is] = [answer(questions[2 * i]), answer(questions[2 * i + 1])];
      if (!was || !is) continue;
      const hint = `seed ${seed}, ${where}: ${shown({ before, after })}`;
      const free = names.filter((name) => !mentioning('V', after).has(name));
      expect(is.V, hint).toBe(wanted);
      for (const name of free) expect(is[name], `${name}, ${hint}`).toBe(was[name]);
    }
  });
});

/** The variables whose values may have to do with this one: its letter stands in what they are assigned. */
function mentioning(name: string, envFiles: readonly string[]): Set<string> {
  const found = new Set([name]);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const text of envFiles) {
      for (const { key, start, end } of findAssignments({ path: '', text })) {
        if ([...found].some((other) => text.slice(start, end).includes(other))) found.add(key);
      }
    }
  }
  return found;
}

/**
 * Whether a default that is not taken could be rejected: compose 5 does not look at it, an older one resolves it. The
 * older one's rejection is then no difference, for a run tells it before it reads anything itself.
 */
function holdsUntaken({ envFiles, templates }: Question): boolean {
  const values = envFiles.flatMap((text) =>
    findAssignments({ path: '', text }).flatMap(({ start, end, quote }) =>
      quote === "'" ? [] : [text.slice(start, end)],
    ),
  );
  return [...Object.values(templates), ...values].some(
    (text) => /\$\{[^}]*\$/.test(text) && failsSomehow(text),
  );
}

/** Whether any part of the text fails, with some of its variables set and the others not. */
function failsSomehow(text: string): boolean {
  const parts = [...text.matchAll(/\$/g)].map(({ index }) => text.slice(index));
  const mentioned = [...new Set([...text.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name))];
  return parts.some((part) =>
    Array.from({ length: 2 ** mentioned.length }, (_, bits) => bits).some((bits) => {
      const isSet = (name: string) => (bits >> mentioned.indexOf(name)) % 2 === 1;
      const lookup = (name: string) => (isSet(name) ? trace('x', '/x', 0, { via: 'text' }) : null);
      try {
        interpolate(trace(part, '/compose.yaml', 0, { via: 'text' }), lookup, 'here');
        return false;
      } catch {
        return true;
      }
    }),
  );
}

/**
 * Compose reads the env files of its command line a second time, with all that they set in its environment: a variable
 * that is required, given, and emptied further down, it misses then. Rare enough to leave to compose.
 */
function missesLater({ envFiles }: Question): boolean {
  try {
    const files = envFiles.map((text, i) => ({ path: `/${i}.env`, text }));
    const last = variablesOf(files);
    for (const file of files) {
      for (const { start, end, quote } of findAssignments(file)) {
        const template = trace(file.text.slice(start, end), file.path, start, { via: 'text' });
        if (quote !== "'") interpolate(template, last, 'here');
      }
    }
    return false;
  } catch {
    return true;
  }
}

/** What compose 2.26 does in its own way. */
function differsOnHost({ envFiles }: Question): boolean {
  const keys = envFiles.map((text) => new Set(findAssignments({ path: '', text }).map(({ key }) => key)));
  // To 2.26, `$V` in a later file means the V of an earlier one, though it is set anew in between.
  const isSetTwice = keys.some((set, i) =>
    keys.slice(0, i).some((other) => [...set].some((key) => other.has(key))),
  );
  // It puts all it read into its environment, and stops at a variable without a name, or with a zero in its value.
  const isOdd = keys.some((set) => set.has('')) || envFiles.some((text) => /\0|\\0000/.test(text));
  return isSetTwice || isOdd || envFiles.some(endsInName);
}

function endsInName(text: string): boolean {
  try {
    const ended = findAssignments({ path: '', text: `${text}=` });
    return findAssignments({ path: '', text }).length < ended.length && ended.at(-1)?.key !== '';
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
  const both = all.filter(({ question, answer }) => answer !== null && !missesLater(question));
  const [accepted, arguable] = [false, true].map((is) =>
    both.filter(({ question }) => holdsUntaken(question) === is),
  ) as [typeof both, typeof both];
  const rejected = all.filter(({ answer }) => answer === null).slice(0, most.rejected);
  expect(Math.min(accepted.length, rejected.length)).toBeGreaterThan(10);
  const untaken = new Set(arguable.slice(0, 60).map(({ question }) => question));
  const asked = [...accepted, ...rejected, ...arguable.slice(0, 60)];
  const expected = new Map(asked.map(({ question, answer }) => [question, answer]));
  const alone = [
    ...untaken,
    ...[...accepted.slice(0, most.alone ?? 0), ...rejected].map(({ question }) => question),
  ];
  await inBoth(
    [...expected.keys()],
    async (asked, answers, where) => {
      const differences = asked
        .map((question, i) => ({ question, ours: expected.get(question), compose: answers[i] }))
        .filter(({ question, compose }) => compose !== null || !untaken.has(question))
        .filter(({ ours: mine, compose }) => JSON.stringify(mine) !== JSON.stringify(compose))
        .map((difference) => shown(difference))
        .sort((a, b) => a.length - b.length);
      expect(differences.slice(0, 5), `seed ${seed}, ${where}, ${differences.length} differ`).toEqual([]);
      if (where === 'host') return;
      for (const [i, question] of asked.entries()) recording?.hold(...placeOf(question), answers[i] ?? null);
    },
    alone,
  );
}

const shown = (value: unknown) =>
  JSON.stringify(value).replace(
    /[\x7f-\xa0\u180e\u2000-\u2029\u3000\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

type Where = 'image' | 'host';

async function inBoth(
  questions: readonly Question[],
  check: (asked: readonly Question[], answers: Answer[], where: Where) => Promise<void>,
  alone: readonly Question[] = [],
): Promise<void> {
  const of = async (where: Where) => {
    const asked = questions.filter((question) => where === 'image' || !safely(differsOnHost, question));
    // A host that is asked next to nothing would prove nothing.
    expect(asked.length).toBeGreaterThan(questions.length / 3);
    await check(asked, await askCompose(asked, new Set(alone), where), where);
  };
  await Promise.all([of('image'), of('host')]);
}

const safely = (test: (question: Question) => boolean, question: Question): boolean => {
  try {
    return test(question);
  } catch {
    return false;
  }
};

// One call reads many, each as an included file with env files of its own: compose takes the same way to those.
const batch = 60;

const script = `
  for directory in "$1"/*/; do
    cd "$directory" || exit
    set --
    for file in main*.env; do set -- "$@" --env-file "$file"; done
    docker compose "$@" -f compose.json config --format json >out 2>err </dev/null || rm out
  done`;

/** What compose makes of each. Those of `alone` are asked one by one, through `--env-file`. */
async function askCompose(
  questions: readonly Question[],
  alone: ReadonlySet<Question>,
  where: Where,
): Promise<Answer[]> {
  return inDirectory(async (directory) => {
    const together = questions.filter((question) => !alone.has(question));
    const calls = [...questions.filter((question) => alone.has(question))].map((question) => [question]);
    const single = calls.length;
    for (let i = 0; i < together.length; i += batch) calls.push(together.slice(i, i + batch));
    await Promise.all(
      calls.map((call, i) => writeCall(join(directory, `${i}`.padStart(5, '0')), call, i < single)),
    );
    const mount = ['-v', `${directory}:${directory}`, '--entrypoint', 'sh', updaterImage];
    if (where === 'image') {
      await execa('docker', ['run', '--rm', '--network', 'none', ...mount, '-c', script, 'sh', directory]);
    } else {
      const env = { PATH: process.env.PATH, HOME: process.env.HOME };
      await execa('sh', ['-c', script, 'sh', directory], { env, extendEnv: false });
    }
    const answers = new Map<Question, Answer>();
    for (const [i, call] of calls.entries()) {
      const out = join(directory, `${i}`.padStart(5, '0'), 'out');
      const text = await readFile(out, 'utf8').catch(() => null);
      const services = text === null ? null : JSON.parse(text).services;
      const said = await readFile(join(out, '../err'), 'utf8');
      if (!services && (i >= single || !/failed to read |interpolat/.test(said))) {
        throw new Error(`seed ${seed}, ${where}: ${said} ${call.length === 1 ? shown(call) : ''}`);
      }
      for (const [number, question] of call.entries()) {
        answers.set(question, services ? labelsOf(question, services[`s${number}`]) : null);
      }
    }
    return questions.map((question) => answers.get(question) ?? null);
  });
}

function labelsOf({ templates }: Question, service: { labels: Record<string, string> }): Answer {
  // What compose prints could be a compose file again.
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
