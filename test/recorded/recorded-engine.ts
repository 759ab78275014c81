import { createHash } from 'node:crypto';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ComposeModel } from '../../src/engine/cli/compose.ts';
import { Engine } from '../../src/engine/cli/engine.ts';
import { runCommand } from '../../src/engine/cli/run-command.ts';
import type { Recording } from './recording.ts';

export type ComposeAnswer = { model: ComposeModel } | { exitCode: number | null; stderr: string };

interface RowOptions {
  recording: Recording<ComposeAnswer>;
  row: string;
  /** The directory with all files of the row. */
  root: string;
  /** Whether to run compose and compare its results with the recording. */
  live: boolean;
}

const stagePath = new RegExp(`${tmpdir()}/svc-updater-stage-\\w+`);

/**
 * Returns the recorded result of each `docker compose config`, by its arguments and all files that it may read.
 * If `live`, compose uses the user's client configuration, not that of a bump, which may have another plugin.
 */
export class RecordedEngine extends Engine {
  readonly #options: RowOptions;

  constructor(options: RowOptions) {
    super({ host: 'unix:///nonexistent', tls: [], configDirectory: '/nonexistent' }, { home: homedir() });
    this.#options = options;
  }

  override async call(...[args, options]: Parameters<Engine['call']>): ReturnType<Engine['call']> {
    const { recording, row, root, live } = this.#options;
    const stage = stagePath.exec(args.join('\n'))?.[0];
    if (stage === undefined) throw new Error(`no question to compose: ${args.join(' ')}`);
    const anywhere = (text: string) => text.replaceAll(stage, '@stage@').replaceAll(root, '@root@');
    const here = (text: string) => text.replaceAll('@stage@', stage).replaceAll('@root@', root);
    const files = [...(await textsIn(root)), ...(await textsIn(stage))].sort();
    const question = createHash('sha256')
      .update(anywhere(JSON.stringify([args, files])))
      .digest('hex');
    if (live) {
      const { exitCode, stdout, stderr } = await runCommand('docker', args, {
        env: { PATH: process.env.PATH ?? '', HOME: homedir(), ...options?.env },
        cwd: options?.cwd,
        deadlineMs: 30_000,
      });
      const untimed = stderr.replace(/(?<=^time=")[^"]*/gm, '');
      const answer = exitCode === 0 ? { model: JSON.parse(stdout) } : { exitCode, stderr: untimed };
      recording.hold(row, question.slice(0, 12), JSON.parse(anywhere(JSON.stringify(answer))));
    }
    const answer: ComposeAnswer = JSON.parse(
      here(JSON.stringify(recording.answer(row, question.slice(0, 12)))),
    );
    const said =
      'model' in answer
        ? { exitCode: 0, stdout: JSON.stringify(answer.model), stderr: '' }
        : { ...answer, stdout: '' };
    return { ...said, timedOut: false, aborted: false };
  }
}

/** All files and links of the row, except links in an overlay directory, which point outside of it. */
async function textsIn(directory: string): Promise<string[][]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const texts = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) return [[path, await readFile(path, 'utf8')]];
    return entry.isSymbolicLink() && !path.includes('/shadow/') ? [[path, await readlink(path)]] : [];
  });
  return (await Promise.all(texts)).flat();
}
