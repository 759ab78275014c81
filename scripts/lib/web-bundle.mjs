// The elements as one small file, for scripts/build.mjs and the tests in a browser.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';
import { minify } from 'rolldown/utils';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Names of properties that only the code of the elements uses, which get short names in the file. No text, attribute, event, or
 * field of a request or response may have one of these names (test/web/bundle.test.ts).
 */
export const shortenedNames = `
  actions addElement addListener announcement answeredAt askAt automaticOf backupPage cancelProblem cancelRun
  channelName checkForReleases checkRollback confirmation dismissed dismissedRuns embeddingPage eventId fetchLines fetchPastRuns
  fetchRollbackOffer fetchRun fetchStatus firstPause futureDay hasServerResponse highlight inFront isAdmin
  isBad isButton isCancelSent isChanged isChecking isConfirming isCopied isDialogOpen isEnabled isOptional isOwn
  isReloadPrevented isRequestPending isRight isRollback isRunning isStatusNeeded isStuck isUnfolded isUpdating
  isUrgent isVersion isVisible isWatchedUnknown lacking logLines longestPause messageStates openEventStream outage
  pageSince pageVersion parts removeElement reportState reportUrl reportedRun requestStatusNow requestedAt
  runInProgressId savingSeconds setDialogOpen setInitialText skipRelease startRehearsal startRollback startUpdate
  ticks versionAfterReload versionBefore watched watchedEndedAt
`
  .trim()
  .split(/\s+/);

/** Resolves with the text of the file, and esbuild's description of it. */
export async function bundleElements() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/web/index.ts'],
    bundle: true,
    outfile: 'index.mjs',
    write: false,
    metafile: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    mangleProps: new RegExp(`^(?:${shortenedNames.join('|')})$`),
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [
      { name: 'remove-descriptions', setup: removeDescriptions },
      { name: 'minify-styles', setup: minifyStyles },
    ],
  });
  // A second minifier, which is better at variables.
  const { code } = await minify('index.mjs', outputFiles[0].text, {
    module: true,
    compress: { target: 'es2022' },
  });
  return { code, metafile };
}

/**
 * Removes what only OpenAPI and the manifest of the elements need: the schemas of the wire's fields, their names, descriptions
 * and keywords, and the descriptions of the elements. Only descriptions contain a space.
 */
function removeDescriptions({ onLoad }) {
  onLoad({ filter: /\/src\/wire\/response-fields\.ts$/ }, async ({ path }) => {
    const { code } = await transform(await readFile(path, 'utf8'), { loader: 'ts' });
    const contents = code
      .replace(/^ +(?:schema|component): schemaOf.*\n/gm, '')
      .replaceAll('{ schema, read }', '{ read }');
    return { contents };
  });
  onLoad({ filter: /\/src\/(?:web\/tags|wire\/status)\.ts$/ }, async ({ path }) => {
    const { code } = await transform(await readFile(path, 'utf8'), { loader: 'ts' });
    const contents = code
      .replace(/(?<=create(?:Keyword|Number)Field\()(?:[\w.]+|\{[^}]*\})(?=\))/g, '')
      .replace(/"(?:[^"\\]|\\.)*"/g, (text) => (text.includes(' ') ? '""' : text))
      .replace(/(?<=defineSchema\(\s*)"\w+",\s*(?:null|"")/g, '"", ""')
      .replace(/(?:, |(?<=\())""(?=\))/g, '');
    return { contents };
  });
}

/** Every template of the file is a style sheet. */
function minifyStyles({ onLoad }) {
  onLoad({ filter: /\/src\/web\/elements\/styles\.ts$/ }, async ({ path }) => {
    const { code } = await transform(await readFile(path, 'utf8'), { loader: 'ts' });
    const pieces = code.split('`');
    for (let at = 1; at < pieces.length; at += 2)
      pieces[at] = (await transform(pieces[at], { loader: 'css', minify: true })).code.trim();
    return { contents: pieces.join('`') };
  });
}
