import { writeFile } from 'node:fs/promises';
import { fetchReport } from '../../wire/api-client/fetch-report.ts';
import {
  type ClientCommand,
  type CommandContext,
  CommandFailedError,
} from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { createSession, requireResponseValue } from '../connection/create-session.ts';

export const instanceReportCommand: ClientCommand = {
  name: 'instance report',
  summary: 'Save a report for an issue: log, plan and versions, without secrets',
  options: { output: { value: 'FILE', help: 'Write the archive to FILE, or to standard output (-)' } },
  examples: [
    ['{product} instance report', 'save the archive in the current directory'],
    ['{product} instance report --output - | tar -tz', 'list the files of the archive'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const session = createSession(context);
  const { args, reader, signal, stderr } = session;
  const archive = await requireResponseValue(fetchReport(reader, signal), session);
  const time = new Date().toISOString().replace(/\.\d+|[-:]/g, '');
  const file = String(args.options.output ?? `${getProductNames().name}-report-${time}.tar.gz`);
  if (file === '-') {
    process.stdout.write(archive);
    return 0;
  }
  await writeFile(file, archive, { mode: 0o600, flag: 'wx' }).catch(({ code }: NodeJS.ErrnoException) => {
    throw new CommandFailedError(1, `cannot write ${file} (${code})`);
  });
  stderr.write(`Saved ${file}. Check its files for private data before you publish them.\n`);
  return 0;
}
