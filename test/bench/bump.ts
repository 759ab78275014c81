import { mkdir, mkdtemp, open, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { type Comparison, describeMachine, inPairs, report, timed } from './compare.ts';

/**
 * What scripts/bench runs for `bump`: bump in projects of up to 1,000 services, beside two `docker compose config`, as a proof
 * needs a model before and one after.
 */

const pairs = Number(process.env.PAIRS ?? 5);
const bundle = fileURLToPath(new URL('../../dist/agent.mjs', import.meta.url));
const [from, to] = ['v1.4.2', 'v1.5.0'];

interface Size {
  services: number;
  envLines: number;
  pins: 'variable' | 'literal';
  /** How many services are bumped, and carry the release. */
  bumped: number;
}

const sizes: Size[] = (['variable', 'literal'] as const).flatMap((pins) => [
  { services: 10, envLines: 100, pins, bumped: 2 },
  { services: 1000, envLines: 10_000, pins, bumped: 2 },
  { services: 1000, envLines: 10_000, pins, bumped: 1000 },
]);

const root = await realpath(await mkdtemp(join(tmpdir(), 'svc-updater-bench-')));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void rm(root, { recursive: true, force: true }).then(() => process.exit(130)));
}
try {
  const flags = await configFlags();
  console.log(`${pairs} pairs, one after the other in turns; ${describeMachine()}`);
  const all: Comparison[] = [];
  for (const size of sizes) all.push(await measure(size, flags));
  report(all);
} finally {
  await rm(root, { recursive: true, force: true });
}

async function measure(size: Size, flags: readonly string[]): Promise<Comparison> {
  const directory = await mkdtemp(join(root, 'p'));
  const texts = { 'compose.yaml': composeText(size), '.env': envText(size) };
  const args = ['--to', to, ...names(size).flatMap((service) => ['--service', service])];
  const { ours, theirs } = await inPairs(pairs, {
    ours: async () => {
      for (const [name, text] of Object.entries(texts)) await writeFile(join(directory, name), text);
      return timed(() => bump(directory, args));
    },
    theirs: () =>
      timed(async () => {
        await config(directory, flags);
        await config(directory, flags);
      }),
  });
  const count = (number: number) => number.toLocaleString('en-US');
  const figure = `bump ${count(size.bumped)} of ${count(size.services)} services, ${size.pins} pins`;
  return { figure, against: 'compose config, twice', unit: 'ms', reach: null, ours, theirs };
}

async function bump(directory: string, args: readonly string[]): Promise<void> {
  // Into a file: reading thousands of lines from a pipe is not bump's own work.
  const file = join(root, 'output');
  const output = await open(file, 'w');
  const stdout = output.createWriteStream();
  await execa(process.execPath, [bundle, 'bump', ...args], { cwd: directory, stdout }).finally(() =>
    output.close(),
  );
  const said = await readFile(file, 'utf8');
  if (!said.includes(`updated to ${to}`)) throw new Error(`bump did not update:\n${said.slice(-2000)}`);
}

/** As src/engine/cli/compose.ts asks for a model. */
async function config(directory: string, flags: readonly string[]): Promise<void> {
  await docker(directory, [
    ...['compose', '--ansi', 'never', '--project-directory', directory],
    ...['--file', join(directory, 'compose.yaml'), '--env-file', join(directory, '.env')],
    ...['--profile', '*', 'config', '--format', 'json', ...flags],
  ]);
}

function docker(directory: string, args: readonly string[]) {
  return execa('docker', ['--config', join(root, 'config'), '--host', 'unix:///nonexistent', ...args], {
    cwd: directory,
    env: { PATH: process.env.PATH ?? '', HOME: homedir(), PWD: directory },
    extendEnv: false,
    stdin: 'ignore',
    maxBuffer: 200_000_000,
  });
}

/** Compose before 2.35 does not know the second one. */
async function configFlags(): Promise<string[]> {
  await mkdir(join(root, 'config'));
  const { stdout } = await docker(root, ['compose', 'config', '--help']);
  return ['--no-consistency', ...(stdout.includes('--no-env-resolution') ? ['--no-env-resolution'] : [])];
}

function names({ bumped }: Size): string[] {
  return Array.from({ length: bumped }, (_, index) => `service${index}`);
}

function composeText({ services, pins, bumped }: Size): string {
  // The bumped ones stand apart, as app and worker do among their databases.
  const place = (index: number) => Math.floor((index * services) / bumped);
  const own = new Map(Array.from({ length: bumped }, (_, index) => [place(index), index]));
  const release = pins === 'variable' ? '$' + '{SVC_VERSION}' : from;
  const blocks = Array.from({ length: services }, (_, index) => {
    const number = own.get(index);
    const name = number === undefined ? `other${index}` : `service${number}`;
    const image =
      number === undefined
        ? `registry.example/other${index}:1.${index}.0`
        : `registry.example/acme/svc:${release}`;
    return [
      `  ${name}:`,
      `    image: ${image} # as released`,
      '    restart: unless-stopped',
      '    environment:',
      `      NAME: "${name}"`,
      `      SETTING: \${SETTING_${index % 50}}`,
      '    labels:',
      `      - com.example.index=${index}`,
      '    volumes:',
      `      - data${index % 10}:/data`,
      '    healthcheck:',
      '      test: ["CMD", "true"]',
      '      interval: 10s',
    ];
  });
  const volumes = Array.from({ length: 10 }, (_, index) => `  data${index}:`);
  return ['name: bench', 'services:', ...blocks.flat(), 'volumes:', ...volumes, ''].join('\n');
}

function envText({ envLines }: Size): string {
  const lines = Array.from({ length: envLines }, (_, index) => {
    if (index === Math.floor(envLines / 2)) return `SVC_VERSION=${from}`;
    if (index % 10 === 8) return `# what follows is setting ${index}`;
    if (index % 10 === 9) return `SETTING_${index}="$\{SETTING_${index - 9}}/${index}" # quoted`;
    return `SETTING_${index}=value-of-${index}`;
  });
  return `${lines.join('\n')}\n`;
}
