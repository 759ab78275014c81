import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { buildSettingsArchive } from '../../../../src/server/run/launch/launch-updater.ts';
import { parseCommandLine, UsageError } from '../../../../src/updater/run/options/command-line.ts';
import { addValuesFromSetFile } from '../../../../src/updater/run/options/set-file-values.ts';
import { updateOptionsOf } from '../../../../src/updater/run/options/update-options.ts';
import { promptForSettingValues } from '../../../../src/updater/run/prompt-for-setting-values.ts';
import { engineWith, runContext } from '../../../build-plan.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let path = '';
let folder = '';
beforeEach(async () => {
  folder = await temporaryDirectory();
  path = join(folder, 'settings.env');
});

/** The settings of a command line, or its errors. */
async function read(args: readonly string[], isTerminal = false, env: Record<string, string> = {}) {
  try {
    const line = await addValuesFromSetFile(parseCommandLine(args, env), isTerminal);
    const { settings } = updateOptionsOf(line);
    return settings && Object.fromEntries(settings);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.mistakes;
  }
}
const readFile = async (text: string, ...args: string[]) => {
  await writeFile(path, text);
  return read(['--set-file', path, ...args]);
};

/** The text of the file that the server writes. */
function settingsFile(given: Record<string, string>): string {
  const archive = buildSettingsArchive(given);
  const size = Number.parseInt(archive.toString('latin1', 124, 136), 8);
  return archive.toString('utf8', 512, 512 + size);
}

describe('settings of a run', () => {
  it('are read from --set (the last value of a name wins), but not from an environment variable', async () => {
    const env = { SVC_UPDATER_SET: 'C=3' };
    expect(await read(['--set', 'A=1=2 3', '--set=B=x', '--set', 'B= y'], false, env)).toEqual({
      A: '1=2 3',
      B: ' y',
    });
    expect(await read(['plan', '--set', 'A'], true)).toEqual({ A: undefined });
    expect(await read(['fetch'])).toBeNull();
  });

  it('are read from --set-file with the syntax of dotenv, and --set takes precedence', async () => {
    const text = `# c\n\nexport A = "a # b" # c\r\n  B='it is'\nC=\`'"\`\nD=x#y\n`;
    expect(await readFile(text, '--set', 'D=z')).toEqual({ A: 'a # b', B: 'it is', C: `'"`, D: 'z' });
    await writeFile(path, 'A=1');
    expect(await read([], false, { SVC_UPDATER_SET_FILE: path })).toEqual({ A: '1' });
  });

  it('are read unchanged from the file that the server writes, for generated values', async () => {
    const unit = fc.constantFrom(...`'"\`\\#$= nab\u00fc\u2028,[]{}`, '\\n', '$', '{X}', '# ');
    const values = fc.dictionary(
      fc.constantFrom('A', 'B', 'constructor', 'toString'),
      fc.string({ unit, minLength: 1, maxLength: 12 }),
    );
    const odd = { A: `'"\`#`, B: `it's "so" \\` };
    const check = async (given: Record<string, string>) => {
      expect(await readFile(settingsFile(given))).toEqual({ ...given });
    };
    await fc.assert(fc.asyncProperty(values, check), { numRuns: 200, examples: [[odd]] });
  });

  it.each<[Record<string, string>, string]>([
    [{ A: ' "ü" $HOME # `', B: '1' }, "A=' \"ü\" $HOME # `'\nB='1'\n"],
    ...["it's", 'a\\b', 'a\u2028b', 'a\nb'].map((B): [Record<string, string>, string] => [
      { A: '1', B },
      JSON.stringify([
        ['A', '1'],
        ['B', B],
      ]),
    ]),
    [JSON.parse('{"__proto__":"1"}'), '[["__proto__","1"]]'],
  ])(
    'are written by the server as an env file, or as JSON if an env file cannot contain them: %j',
    (given, text) => {
      expect(settingsFile(given)).toBe(text);
    },
  );

  const long = 'x'.repeat(4097);
  it.each([
    [['--set', 'hunter2!=x'], '--set must be NAME=VALUE or NAME'],
    [['--set', 'A='], '--set: the value of A must not be empty'],
    [['--set', 'A=b\nc'], '--set: the value of A must be a single line of text'],
    [['--set', `A=${long}`], '--set: the value of A must have at most 4096 characters'],
    [['--set', 'A'], '--set A requires a terminal; otherwise, use A=VALUE'],
    [['--set-file', 'x'], '--set-file must be an absolute path, not "x"'],
    [['fetch', '--set', 'A=b'], 'unknown option --set'],
  ])('are rejected without printing the value: %j', async (args, mistake) => {
    expect(await read(args)).toContain(mistake);
  });

  it('from an invalid file are rejected with line numbers, without the text of the lines', async () => {
    expect(await readFile('A=1\nhunter2\nB-C=2\n"x"\n')).toEqual([
      `${path} line 2 must be NAME=VALUE`,
      `${path} line 3 must be NAME=VALUE`,
      `${path} line 4 must be NAME=VALUE`,
    ]);
    expect(await readFile('__proto__=1\n')).toEqual([`${path} line 1 must be NAME=VALUE`]);
    expect(await readFile('[["A",1]]')).toEqual([`${path} line 1 must be NAME=VALUE`]);
    expect(await readFile('A=\nB="x\\ny"\n')).toEqual([
      `${path}: the value of A must not be empty`,
      `${path}: the value of B must be a single line of text`,
    ]);
  });

  it('must be in a regular file of at most 64 KiB, not in a symbolic link', async () => {
    expect(await read(['--set-file', path])).toEqual([`${path} does not exist`]);
    expect(await readFile('A=1\n'.padEnd(64 * 1024 + 1, '#'))).toEqual([`${path} is larger than 64 KiB`]);
    const link = join(folder, 'link');
    await symlink(path, link);
    expect(await read(['--set-file', link])).toEqual([
      `${link} is a symbolic link, but must be a regular file`,
    ]);
    expect(await read(['--set-file', folder])).toEqual([`${folder} is not a regular file`]);
  });

  it("are empty if the server's file was already removed at the end of the run", async () => {
    expect(await read(['--set-file', '/run/svc-updater-settings.env'])).toEqual({});
  });
});

describe('a value typed at the prompt', () => {
  async function ask(type: (input: PassThrough) => void) {
    const options = updateOptionsOf(parseCommandLine(['--set', 'A=given-value', '--set', 'B'], {}));
    const { context, lines } = runContext(await engineWith({}), options);
    const input = new PassThrough();
    type(input);
    const values = await promptForSettingValues(context, input).catch((error: Error) => error.message);
    context.log.info('given-value and typed value');
    return { values: values instanceof Map ? Object.fromEntries(values) : values, lines };
  }

  it('is read up to the end of the line, and masked like a value of --set', async () => {
    expect(await ask((input) => input.write('typed value\n'))).toEqual({
      values: { A: 'given-value', B: 'typed value' },
      lines: ['info: *** and ***'],
    });
  });

  it.each([
    ['an empty line', (input: PassThrough) => input.write('\n')],
    ['the end of the input', (input: PassThrough) => input.end()],
  ])('must not be %s', async (_, type) => {
    expect((await ask(type)).values).toBe('the value of B must not be empty');
  });
});
