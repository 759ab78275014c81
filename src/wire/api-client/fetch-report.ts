import { readResponseBytes } from '../read-response.ts';
import { createNoResponseResult, type RequestResult } from './request-result.ts';
import { toTimeoutIfLate, type UpdateApiClient, updaterDeadlineMs } from './update-api-client.ts';

/** Fetches the report, an archive that users attach to an issue. Not a method, because pages only link to the report. */
export async function fetchReport(
  reader: UpdateApiClient,
  signal: AbortSignal,
  deadline = updaterDeadlineMs,
): Promise<RequestResult<Uint8Array>> {
  // The deadline includes the body, which may arrive slowly.
  const late = AbortSignal.timeout(deadline);
  const either = AbortSignal.any([signal, late]);
  const opened = await reader.open({ path: '/report', accept: 'application/gzip', deadline, signal: either });
  if (opened.kind !== 'ok') return toTimeoutIfLate(opened, late);
  if (opened.value === null) return createNoResponseResult({ what: 'other', status: 204, type: '' });
  try {
    const value = await readResponseBytes({ body: opened.value });
    return value ? { kind: 'ok', value } : createNoResponseResult({ what: 'large' });
  } catch (cause) {
    return toTimeoutIfLate(createNoResponseResult({ what: 'nothing', cause }), late);
  }
}
