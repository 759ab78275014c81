import type { Run, Status } from '../../wire/status.ts';

type Gauge = readonly [
  name: string,
  help: string,
  value: number | boolean | null | undefined,
  labels?: Readonly<Record<string, string>>,
];

/** Formats metrics as Prometheus text (docs/contract.md 8.44). Unknown values are omitted. */
export function formatMetrics(status: Status, past: readonly Run[]): string {
  const { version, channel, next, run, checkedAt, now } = status;
  const last = [...(run ? [run] : []), ...past].find(({ outcome }) => outcome !== null);
  const gauges: readonly Gauge[] = [
    ['info', 'Running version, channel and next release', 1, { version, channel, next: next?.version ?? '' }],
    ['update_available', 'Whether an update is available', status.updateAvailable],
    ['update_urgent', 'Whether the running version needs a security update', status.urgent !== null],
    ['version_recalled', 'Whether the running version is recalled', status.recalled !== null],
    [
      'update_running',
      'Whether an update or a rollback is in progress',
      run !== null && run.outcome === null,
    ],
    ['feed_age_seconds', 'Time since the last successful check for releases', secondsBetween(checkedAt, now)],
    ['feed_failed', 'Whether a release check failed or the channel file expired', status.feedError !== null],
    [
      'last_run_outcome',
      'Kind and outcome of the last run',
      last && 1,
      { kind: String(last?.kind), outcome: String(last?.outcome) },
    ],
    ['last_run_age_seconds', 'Time since the end of the last run', secondsBetween(last?.endedAt, now)],
    ['last_run_duration_seconds', 'Duration of the last run', secondsBetween(last?.startedAt, last?.endedAt)],
    ['last_run_downtime_seconds', 'Downtime of the app during the last run', last?.downtimeSeconds],
  ];
  return gauges.map(formatGauge).join('');
}

function formatGauge([name, help, value, labels = {}]: Gauge): string {
  if (value === null || value === undefined) return '';
  const full = `svc_updater_${name}`;
  const escaped = (text: string) =>
    text.replace(/["\\\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  const set = pairs.length > 0 ? `{${pairs.join(',')}}` : '';
  return `# HELP ${full} ${help}\n# TYPE ${full} gauge\n${full}${set} ${Number(value)}\n`;
}

function secondsBetween(from?: string | null, to?: string | null): number | null {
  if (!from || !to) return null;
  // The difference is negative if the clock was set back between the two times. It then becomes 0.
  return Math.max(0, Date.parse(to) - Date.parse(from)) / 1000;
}
