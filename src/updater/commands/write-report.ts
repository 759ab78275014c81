import { UpdateError } from '../../core/errors/update-error.ts';
import { formatEventLine } from '../../core/progress/log-line.ts';
import { escapeUnprintable } from '../../core/text/plain-text.ts';
import { findInstance } from '../compose/inspect/find-project/find-instance.ts';
import { createReportArchive, formatReportVersions, reportFileCreators } from '../report/report-parts.ts';
import { unknownOutcomeDetails } from '../run/log/outcome-details.ts';
import { Log } from '../run/log/run-log.ts';
import { logFailure } from '../run/log/run-outcome.ts';
import type { InitialRunContext } from '../run/run-context.ts';
import { showStackPlan } from '../swarm/index.ts';
import { runInstanceCommand } from './run-instance-command.ts';
import { showPlan } from './show-plan.ts';

/** Writes a diagnostic archive to standard output, and its file list to standard error (docs/contract.md 1.12). */
export async function writeReport(given: InitialRunContext): Promise<number> {
  if (process.stdout.isTTY)
    throw new UpdateError(
      'usage',
      'the archive cannot be written to a terminal: redirect the output (report > report.tar.gz)',
    );
  const plan: string[] = [];
  const log = new Log((event) => plan.push(formatEventLine(event)));
  const context = { ...given, log };
  const { product, stack } = given.options;
  const quiet = { ...given, log: new Log(() => {}) };
  const instance = stack.name === null ? await findInstance(quiet).catch(() => null) : null;
  await runInstanceCommand(context, { kind: 'look', onProject: showPlan, onStack: showStackPlan }).catch(
    (error) => logFailure(error, log, unknownOutcomeDetails),
  );
  const texts = new Map([['versions.txt', await formatReportVersions(context).catch(reasonOf)]]);
  for (const [name, part] of Object.entries(reportFileCreators)) {
    const missing = 'not available: no compose project was found (see plan.txt)';
    texts.set(name, instance === null ? missing : await part(context, instance).catch(reasonOf));
  }
  texts.set('plan.txt', plan.join('\n'));
  // Mask only after all parts are collected: each part may add mask rules for secrets that other parts also contain.
  const files = new Map(
    [...texts].map(([name, text]) => {
      const lines = log.maskText(text).trimEnd().split('\n').map(escapeUnprintable);
      return [`${product.name}-report/${name}`, `${lines.join('\n')}\n`];
    }),
  );
  for (const [name, text] of files) process.stderr.write(`${name}: ${Buffer.byteLength(text)} bytes\n`);
  const archive = createReportArchive(files);
  // With `--base64`, a server reads the archive from the container's log. The log also contains standard error, so a
  // prefix marks the archive's lines.
  const lines = () => `${archive.toString('base64').replace(/.{1,4000}/g, 'report:$&\n')}report.\n`;
  const output = given.line.values.has('base64') ? lines() : archive;
  await new Promise((resolve) => process.stdout.write(output, resolve));
  return 0;
}

const reasonOf = (error: Error): string => `not available: ${error.message}`;
