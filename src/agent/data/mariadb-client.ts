import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline as pipelineNow, Readable, Transform } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { listProject } from '../../engine/api/project-containers.ts';
import { endLeftRunning, execIn } from '../../engine/cli/exec.ts';
import { lastLine } from '../../engine/cli/unreachable.ts';
import { serviceOf } from '../../engine/container.ts';
import { disk, systemCode } from '../../files/file-system.ts';
import { type ErrorCode, UpdateError } from '../../progress/update-error.ts';
import type { DataWork } from './kind.ts';
import { rowsOf } from './mariadb-statements.ts';

/** A file that was written, by the bytes before they were compressed. */
export interface Written {
  sha256: string;
  bytes: number;
}

/** The database's own programs, of whichever name, as its root by its socket. The password never leaves the container. */
const asRoot = `file=\${MARIADB_ROOT_PASSWORD_FILE:-$MYSQL_ROOT_PASSWORD_FILE}
password=\${MARIADB_ROOT_PASSWORD:-$MYSQL_ROOT_PASSWORD}
[ -z "$file" ] || password=$(cat "$file") || exit
[ -z "$password" ] || export MYSQL_PWD="$password"
command -v "$0" >/dev/null && program=$0 || program=$1
shift
exec "$program" "$@"`;
const client = ['sh', '-c', asRoot, 'mariadb', 'mysql'];
const dumper = ['sh', '-c', asRoot, 'mariadb-dump', 'mysqldump'];
const login = ['--user=root', '--protocol=socket'];
/** No statement of a file is one for the client, which could run programs. */
const batch = ['--batch', '--skip-column-names', '--binary-mode', '--default-character-set=utf8mb4'];

/** A server that was killed is back in seconds, and recovers first. */
const startMs = 90_000;

/** The database of one service, and how what goes wrong with it is called. */
export class Database {
  readonly service: string;
  readonly #work: DataWork;
  readonly #container: string;
  readonly #code: ErrorCode;

  private constructor(service: string, container: string, work: DataWork, code: ErrorCode) {
    this.service = service;
    this.#container = container;
    this.#work = work;
    this.#code = code;
  }

  /** Waits for a server that starts, and ends what an earlier call has left running. */
  static async enter(service: string, work: DataWork, code: ErrorCode): Promise<Database> {
    for (const end = performance.now() + startMs; ; await sleep(500)) {
      const { container, why } = await containerOf(service, work);
      const found = container === null ? null : new Database(service, container, work, code);
      if (container !== null) await endLeftRunning(work.engine, container);
      const reason = found === null ? why : await found.#silence();
      if (reason === null && found !== null) return found;
      if (performance.now() > end || /Access denied/.test(reason ?? ''))
        throw new UpdateError(code, `${service}: ${reason}`);
    }
  }

  /** Looks once, and ends nothing; why it cannot be had, where it cannot. */
  static async look(service: string, work: DataWork): Promise<Database | string> {
    const { container, why } = await containerOf(service, work);
    if (container === null) return why;
    const found = new Database(service, container, work, 'data-unfit');
    return (await found.#silence()) ?? found;
  }

  async #silence(): Promise<string | null> {
    const { exitCode, stderr } = await this.#run([...client, ...login, ...batch], 'SELECT 1;');
    return exitCode === 0 ? null : said(stderr);
  }

  /** Runs statements, and gives the rows of all answers. @throws UpdateError */
  async ask(statements: string, { force = false } = {}): Promise<string[][]> {
    const args = [...client, ...login, ...batch, ...(force ? ['--force'] : [])];
    // Quotes are read the same way by every server then.
    const { exitCode, stdout, stderr } = await this.#run(args, `SET SESSION sql_mode = '';\n${statements}\n`);
    if (exitCode !== 0 && !force) throw this.failure(said(stderr));
    return rowsOf(stdout);
  }

  #run(command: readonly string[], input: string) {
    return execIn(this.#work.engine, this.#container, command, { input: Readable.from([input]) });
  }

  failure(message: string, cause?: unknown): UpdateError {
    return new UpdateError(this.#code, `${this.service}: ${message}`, { ...(cause ? { cause } : {}) });
  }

  /** @param file where the dump goes; null for its hash alone. @throws UpdateError, no-space among them */
  async dump(args: readonly string[], file: string | null): Promise<Written> {
    const meter = new Meter(this.#work.onProgress);
    const command = [...dumper, ...login, ...args];
    const [ran, written] = await Promise.allSettled([
      execIn(this.#work.engine, this.#container, command, { output: meter })
        // Whoever waits for more has an end, too.
        .finally(() => meter.writableEnded || meter.destroy()),
      file === null ? finished(meter.resume()) : pack(meter, file),
    ]);
    // A full disk ends the dump, which then fails, too.
    if (written.status === 'rejected' && systemCode(written.reason) !== undefined) {
      const { message } = written.reason as Error;
      if (!['ENOSPC', 'EDQUOT'].includes(systemCode(written.reason) ?? ''))
        throw this.failure(message, written.reason);
      throw new UpdateError('no-space', `${this.service}: ${message}`, { cause: written.reason });
    }
    if (ran.status === 'rejected') throw ran.reason;
    if (ran.value.exitCode !== 0) throw this.failure(`its dump failed: ${said(ran.value.stderr)}`);
    // Its program may end well where its output was cut.
    if (!meter.tail.includes('-- Dump completed')) throw this.failure('its dump was cut off');
    if (written.status === 'rejected') throw written.reason;
    return { sha256: meter.hash.digest('hex'), bytes: meter.bytes };
  }

  /** @param args `mysql` where the file does not say the schema */
  async load(file: string, ...args: string[]): Promise<void> {
    const { onProgress } = this.#work;
    let isRead = false;
    const statements = async function* () {
      // What a less strict server has let in is let in again.
      yield Buffer.from('SET SESSION innodb_strict_mode = OFF;\n');
      let bytes = 0;
      for await (const chunk of unpacked(file)) {
        yield chunk as Buffer;
        bytes += chunk.length;
        onProgress?.(bytes);
      }
      isRead = true;
    };
    const command = [...client, ...login, ...batch, '--max-allowed-packet=1G', '--', ...args];
    const input = Readable.from(statements(), { objectMode: false });
    const { exitCode, stderr } = await execIn(this.#work.engine, this.#container, command, { input });
    if (exitCode !== 0) throw this.failure(`its dump cannot be loaded: ${said(stderr)}`);
    if (!isRead) throw this.failure(`${file} cannot be read`);
  }
}

async function pack(from: Readable, file: string): Promise<void> {
  await rm(file, { force: true });
  await pipeline(
    from,
    createZstdCompress(),
    createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }),
  );
  await disk.sync(dirname(file));
}

const unpacked = (file: string): Readable =>
  pipelineNow(createReadStream(file), createZstdDecompress(), () => {});

/** What a file holds; an Error where it cannot be read or unpacked. */
export async function readWritten(file: string): Promise<Written> {
  const meter = new Meter();
  await Promise.all([pipeline(unpacked(file), meter), finished(meter.resume())]);
  return { sha256: meter.hash.digest('hex'), bytes: meter.bytes };
}

/** Counts what goes through, and keeps its end. */
class Meter extends Transform {
  readonly hash = createHash('sha256');
  bytes = 0;
  tail = '';
  readonly #onProgress: ((bytes: number) => void) | undefined;

  constructor(onProgress?: (bytes: number) => void) {
    super();
    this.#onProgress = onProgress;
  }

  override _transform(chunk: Buffer, _: string, done: (error: null, chunk: Buffer) => void): void {
    this.hash.update(chunk);
    this.bytes += chunk.length;
    this.tail = (this.tail + chunk.subarray(-40).toString('latin1')).slice(-40);
    this.#onProgress?.(this.bytes);
    done(null, chunk);
  }
}

async function containerOf(
  service: string,
  { engine, project }: DataWork,
): Promise<{ container: string; why: null } | { container: null; why: string }> {
  const { containers } = await listProject(engine, project);
  const own = containers.filter((each) => serviceOf(each) === service && each.status === 'running');
  const [only] = own;
  if (only !== undefined && own.length === 1) return { container: only.id, why: null };
  return {
    container: null,
    why: own.length === 0 ? 'its container does not run' : `it has ${own.length} containers`,
  };
}

/** The last line that says something. */
const said = (stderr: string): string => lastLine(stderr) || 'it said nothing';
