import { expect, it } from 'vitest';
import { createLibraryMethods } from '../../../src/server/http/library-methods.ts';
import { formatMetrics } from '../../../src/server/http/metrics.ts';
import { type Run, runSchema, type Status, statusSchema } from '../../../src/wire/status.ts';
import { MemoryService } from './memory-service.ts';

const now = '2026-11-21T11:00:00.000Z';

const statusOf = (change: object = {}): Status =>
  statusSchema.read({ version: 'v1.4.2', channel: 'stable', checkedAt: null, now, ...change }) as Status;

const runOf = (change: object = {}): Run =>
  runSchema.read({
    id: 'a',
    kind: 'update',
    state: 'updated',
    startedAt: '2026-11-21T10:00:00.000Z',
    endedAt: '2026-11-21T10:01:30.500Z',
    outcome: 'updated',
    ...change,
  }) as Run;

const running = runOf({ id: 'b', state: 'pull', outcome: null, endedAt: null });

/** A strict reader of the format: each metric has its help, its type and one sample, in this order. */
function read(text: string): Record<string, string> {
  const sample = /^# HELP (\w+) [^\n]+\n# TYPE \1 gauge\n(\1(?:\{[^\n]*\})?) (-?\d+(?:\.\d+)?)\n/;
  const label = /^\w+="(?:[^"\\\n]|\\["\\n])*"(?:,(?=\w)|$)/;
  const found: Record<string, string> = {};
  for (let rest = text; rest !== ''; ) {
    const [whole, name, key, value] = sample.exec(rest) ?? [];
    if (whole === undefined || name === undefined || key === undefined || value === undefined)
      throw new Error(`not a metric: ${rest}`);
    expect(name).toMatch(/^svc_updater_[a-z_]+$/);
    for (let labels = key.slice(name.length + 1, -1); labels !== ''; ) {
      const [pair] = label.exec(labels) ?? [];
      if (pair === undefined) throw new Error(`not a label: ${labels}`);
      labels = labels.slice(pair.length);
    }
    expect(found).not.toHaveProperty([key]);
    found[key.replace('svc_updater_', '')] = value;
    rest = rest.slice(whole.length);
  }
  return found;
}

const flags = ['update_available', 'update_urgent', 'version_recalled', 'update_running', 'feed_failed'];
const others = Object.fromEntries(flags.map((name) => [name, '0']));
const all = Object.fromEntries(flags.map((name) => [name, '1']));
const nothing = { ...others, 'info{version="v1.4.2",channel="stable",next=""}': '1' };

it.each<[string, Status, Run[], Record<string, string>]>([
  ['a new instance without unknown values', statusOf(), [], nothing],
  [
    'an available update',
    statusOf({
      updateAvailable: true,
      next: { version: 'v1.5.0' },
      urgent: { below: 'v1.5.0', why: 'CVE' },
      recalled: { version: 'v1.4.2', why: 'loses data' },
      checkedAt: '2026-11-21T10:59:30.000Z',
      feedError: { message: 'no answer', nextCheckAt: now },
    }),
    [],
    {
      ...all,
      update_running: '0',
      feed_age_seconds: '30',
      'info{version="v1.4.2",channel="stable",next="v1.5.0"}': '1',
    },
  ],
  [
    'the last finished run during the next run',
    statusOf({ run: running }),
    [running, runOf({ outcome: 'failed', downtimeSeconds: 4.25 }), runOf()],
    {
      ...nothing,
      update_running: '1',
      'last_run_outcome{kind="update",outcome="failed"}': '1',
      last_run_age_seconds: '3509.5',
      last_run_duration_seconds: '90.5',
      last_run_downtime_seconds: '4.25',
    },
  ],
  [
    'a run that the store does not have yet, after the clock was set back',
    statusOf({ run: runOf({ kind: 'rollback', endedAt: '2026-11-21T09:00:00.000Z' }) }),
    [runOf({ outcome: 'broken' })],
    {
      ...nothing,
      'last_run_outcome{kind="rollback",outcome="updated"}': '1',
      last_run_age_seconds: '7200',
      last_run_duration_seconds: '0',
    },
  ],
  [
    'external text as a label',
    statusOf({ next: { version: 'v1\\"}\nx 1' } }),
    [],
    { ...others, 'info{version="v1.4.2",channel="stable",next="v1\\\\\\"}\\nx 1"}': '1' },
  ],
])('reports %s', (_, status, past, metrics) => {
  expect(read(formatMetrics(status, past))).toEqual(metrics);
});

it('reads only the status and the history', async () => {
  const service = new MemoryService();
  const { metrics } = createLibraryMethods(service, { path: '/', name: 'svc' });
  expect(read(await metrics())).toMatchObject({ update_available: '1', feed_age_seconds: '129' });
  expect(service.calls).toEqual(['status', 'history']);
});

it('reports metrics even if the history cannot be read', async () => {
  const service = new MemoryService();
  service.history = () => Promise.reject(new Error('the store does not answer'));
  const { metrics } = createLibraryMethods(service, { path: '/', name: 'svc' });
  expect(read(await metrics())).toMatchObject({ update_available: '1' });
});
