import { createRun, RunRecord } from '../run-record.ts';
import type { ServerContext } from '../server-context.ts';
import { runWithAdditionalUpdater } from './run-additional-updater.ts';

/** Maximum number of base64 characters in a report. A typical report is much smaller. */
const maxReportCharacters = 16 * 1024 * 1024;

/**
 * Returns a diagnostic archive that an updater creates (docs/contract.md 8.42).
 * @throws Error if the archive is incomplete
 */
export async function createDiagnosticReport(context: ServerContext): Promise<Uint8Array<ArrayBuffer>> {
  const { engine, settings, timing, place: location, closing } = context;
  const deployment = await location.findDeployment();
  const startedAt = new Date().toISOString();
  const origin = { id: `report-${deployment.project}`, from: settings.version, to: null, startedAt };
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timing.check)]);
  const record = new RunRecord(createRun(origin));
  const order = { command: ['report', '--base64'] as const, record, deployment, signal };
  return runWithAdditionalUpdater('report', order, context, async (containerId) => {
    let text = '';
    let isComplete = false;
    // Read the log to its end: after the updater has written the archive, it still removes its temporary containers.
    for await (const line of engine.followLog(containerId, signal)) {
      isComplete ||= line === 'report.';
      if (line.startsWith('report:')) text += line.slice('report:'.length);
      if (text.length > maxReportCharacters) break;
    }
    if (isComplete) return Buffer.from(text, 'base64');
    throw new Error('the updater did not write a complete report');
  });
}
