import { type Phase, type ProgressEvent, phases } from './event.ts';

/** The event of a line of `--log json`, by which somebody may run the updater by hand; null for any other line. */
export function parseJsonLine(line: string): ProgressEvent | null {
  if (!line.startsWith('{')) return null;
  let fields: Record<string, unknown>;
  try {
    fields = Object(JSON.parse(line));
  } catch {
    return null;
  }
  const { level, time, phase, percent, msg } = fields;
  if (typeof level !== 'number' || typeof time !== 'string' || typeof msg !== 'string') return null;
  if (!phases.includes(phase as Phase) || Number.isNaN(Date.parse(time))) return null;
  const isPercent = Number.isInteger(percent) && Number(percent) >= 0 && Number(percent) <= 100;
  return {
    time: new Date(time).toISOString(),
    level: level >= 50 ? 'error' : level >= 40 ? 'warn' : 'info',
    phase: phase as Phase,
    ...(isPercent && { percent: Number(percent) }),
    message: msg,
  };
}
