import { commandsOf, read } from './documents.ts';

/** Commands of the documents; the end-to-end tests run them. */

const only = (document: string, form: RegExp): string => {
  const found = commandsOf(read(document)).filter((command) => form.test(command));
  if (found[0] === undefined) throw new Error(`${document} shows no command like ${form}`);
  return found[0];
};

const without = (text: string, end: string): string => text.slice(0, text.lastIndexOf(end));

/** The command of docs/operating.md, without the arguments of the updater. */
export const updater = without(
  only('docs/operating.md', /^docker run --rm --name svc-updater .*svc-updater:dev --target v1\.1\.0$/),
  ' --target',
);
/** The command of docs/larder.md. */
export const byHand = without(only('docs/larder.md', /^docker run .*larder-updater:1 plan/), ' plan');
/** The command of SECURITY.md. */
export const leastRights = without(only('SECURITY.md', /^docker run .*--cap-drop ALL/), ' --target');
export const bump = only('docs/pins.md', /^docker run .* bump /);
