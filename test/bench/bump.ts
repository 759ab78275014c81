import { mkdir, mkdtemp, open, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, homedir, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { median, timed } from './compare.ts';

/** What scripts/bench runs for `bump`: its time beyond compose's own, by the size of a project. */

const runs = 5;
const limitMs = 1000;
const bundle = fileURLToPath(new URL('../../dist/agent.mjs', import.meta.url));
/** Runs in the process of bump: the last line of its standard error is its processor time. */
const meter = `data:text/javascript,process.on('exit',()=>{const{user,system}=process.cpuUsage();
process.stderr.write('\\n'+(user+system)/1000)})`;
const [from, to] = ['v1.4.2', 'v1.5.0'];

type Pins = 'variable' | 'literal';

interface Size {
  services: number;
  envLines: number;
  pins: Pins;
  /** How many services are bumped, and carry the release. */
  bumped: number;
}

/** Milliseconds, medians. */
interface Figures {
  size: Size;
  mode: 'dry' | 'real';
  bump: number;
  /** Two plain `docker compose config`: a proof needs a model before and one after. */
  compose: number;
  ours: number;
  /** Processor time of bump's own process, compose apart: hardly changed by what else the machine does. */
  cpu: number;
}

const steps = [
  [10, 100],
  [100, 1000],
  [1000, 10_000],
] as const;
const largest = 1000;
const widths = [8, 10, 8, 6, 4, 7, 10, 7, 6, 5];
const sizes: Size[] = (['variable', 'literal'] as const).flatMap((pins) => [
  ...steps.map(([services, envLines]) => ({ services, envLines, pins, bumped: 2 })),
  { services: largest, envLines: 10_000, pins, bumped: largest },
]);

const root = await realpath(await mkdtemp(join(tmpdir(), 'svc-updater-bench-')));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void rm(root, { recursive: true, force: true }).then(() => process.exit(130)));
}
try {
  await main();
} finally {
  await rm(root, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const flags = await configFlags();
  const [load = 0] = loadavg();
  const cpus = availableParallelism();
  const { stdout: version } = await docker(root, ['compose', 'version', '--short']);
  console.log(`medians of ${runs} runs; compose ${version}; load ${load.toFixed(1)} on ${cpus} CPUs`);
  if (flags.length < 2) console.log('This compose is older than 2.35: bump asks it once in vain.');
  if (load > cpus / 2)
    console.log('The machine is busy: of these figures only the processor time says much.');
  const header = [
    'services',
    '.env lines',
    'pins',
    'bumped',
    'mode',
    'bump ms',
    'compose ms',
    'ours ms',
    'cpu ms',
    'ratio',
  ];
  line(header);
  const figures: Figures[] = [];
  for (const size of sizes) {
    for (const found of await measure(size, flags)) {
      figures.push(found);
      line(columns(found));
    }
  }
  console.log();
  for (const pins of ['variable', 'literal'] as const) console.log(growth(figures, pins));
  console.log(verdict(figures, 2));
  console.log(verdict(figures, largest));
  console.log(JSON.stringify(figures));
}

/** Dry and real, in turns with compose alone, so that what else the machine does hits all of them. */
async function measure(size: Size, flags: readonly string[]): Promise<Figures[]> {
  const directory = await mkdtemp(join(root, 'p'));
  const texts = { 'compose.yaml': composeText(size), '.env': envText(size) };
  const write = () =>
    Promise.all(Object.entries(texts).map(([name, text]) => writeFile(join(directory, name), text)));
  const args = ['--to', to, ...names(size).flatMap((service) => ['--service', service])];
  const times = { compose: [] as number[], dry: [] as number[], real: [] as number[] };
  const cpu = { dry: [] as number[], real: [] as number[] };
  for (let run = 0; run < runs; run += 1) {
    await write();
    times.compose.push(
      (await timed(() => config(directory, flags))) + (await timed(() => config(directory, flags))),
    );
    times.dry.push(await timed(async () => cpu.dry.push(await bump(directory, [...args, '--dry-run']))));
    times.real.push(await timed(async () => cpu.real.push(await bump(directory, args))));
  }
  return (['dry', 'real'] as const).map((mode) => ({
    size,
    mode,
    bump: median(times[mode]),
    compose: median(times.compose),
    ours: median(times[mode].map((ms, run) => ms - (times.compose[run] ?? 0))),
    cpu: median(cpu[mode]),
  }));
}

/** Gives the processor time. */
async function bump(directory: string, args: readonly string[]): Promise<number> {
  const command = ['--import', meter, bundle, 'bump', ...args];
  // Into a file: reading thousands of lines from a pipe is not bump's own work.
  const file = join(root, 'output');
  const output = await open(file, 'w');
  const stream = output.createWriteStream();
  const { stderr } = await execa(process.execPath, command, { cwd: directory, stdout: stream }).finally(() =>
    output.close(),
  );
  const stdout = await readFile(file, 'utf8');
  const words = args.includes('--dry-run') ? 'planned: nothing was changed' : `updated to ${to}`;
  if (!stdout.includes(words)) throw new Error(`bump did not say "${words}":\n${stdout.slice(-2000)}`);
  return Number(stderr.split('\n').at(-1));
}

/** As src/engine/compose.ts asks for a model. */
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

function line(cells: readonly string[]): void {
  console.log(cells.map((cell, index) => cell.padStart(widths[index] ?? 0)).join('  '));
}

function columns({ size, mode, bump: whole, compose, ours, cpu }: Figures): string[] {
  const { services, envLines, pins, bumped } = size;
  return [
    ...[count(services), count(envLines), pins, count(bumped), mode],
    ...[whole, compose, ours, cpu].map((ms) => ms.toFixed(0)),
    (whole / compose).toFixed(2),
  ];
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

/**
 * How much a service more costs in a large project and in a small one: the same where the growth is linear, and rather
 * less, as code that runs long runs fast.
 */
function growth(figures: readonly Figures[], pins: Pins): string {
  const [small = 0, middle = 0, large = 0] = steps.map(([services]) => cpuOf(figures, services, pins));
  const early = (middle - small) / (steps[1][0] - steps[0][0]);
  const late = (large - middle) / (steps[2][0] - steps[1][0]);
  return (
    `growth, ${pins} pins: ${late.toFixed(2)} ms of processor time a service from 100 to 1,000, ${early.toFixed(2)} ms from 10 to 100: ` +
    `${(late / early).toFixed(1)} times (1 is linear, 10 quadratic)`
  );
}

/** Of the real bump of two services. */
function cpuOf(figures: readonly Figures[], services: number, pins: Pins): number {
  return (
    figures.find(
      ({ size, mode }) =>
        mode === 'real' && size.bumped === 2 && size.services === services && size.pins === pins,
    )?.cpu ?? Number.NaN
  );
}

function verdict(figures: readonly Figures[], bumped: number): string {
  const ofThese = figures.filter(({ size }) => size.services === largest && size.bumped === bumped);
  const worst = Math.max(...ofThese.map(({ ours }) => ours));
  const cpu = Math.max(...ofThese.map((found) => found.cpu));
  const stays = worst < limitMs ? 'under' : 'NOT under';
  return (
    `1,000 services, 10,000 lines, ${count(bumped)} bumped: ${stays} one second beyond compose's own time ` +
    `(at most ${worst.toFixed(0)} ms, of processor time ${cpu.toFixed(0)} ms)`
  );
}
