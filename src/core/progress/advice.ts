import { type Product, svc } from './product.ts';

/** What the fields of an advice depend on. */
interface AdviceFields {
  /** What is run again: `the update` or `rollback --yes`. */
  command?: string;
  /** The command with which compose finds the project. */
  compose?: string;
  /** The command that applies all files; it names services if others must not be recreated. */
  up?: string;
  product?: Product;
}

/** An advice with its fields `{command}`, `{compose}`, `{up}`, `{product}` and `{container}` filled in. */
export const adviceText = (
  template: string,
  {
    command = 'the update',
    compose = 'docker compose',
    up = `${compose} up -d`,
    product = svc,
  }: AdviceFields = {},
): string =>
  filled(template, { command, compose, up, product: product.name, container: product.containerName });

/** A text with these fields filled in. `${name}` is a variable of a compose file, not a field. */
export const filled = (template: string, fields: Readonly<Record<string, string>>): string =>
  template.replaceAll(/(?<!\$)\{(\w+)\}/g, (whole, name) =>
    Object.hasOwn(fields, name) ? (fields[name] ?? whole) : whole,
  );

/** The files may belong to any user. */
export const needsRoot =
  'Run the updater as root, without --user. On NFS, export with no_root_squash. If capabilities are dropped, add CHOWN, DAC_OVERRIDE and FOWNER.';

/** Flags that mount directories of the host at their own paths, each once: `-v /opt/a:/opt/a -v /opt/b:/opt/b`. */
export const mountFlags = (...directories: readonly string[]): string =>
  [...new Set(directories)].map((directory) => `-v ${shellWord(`${directory}:${directory}`)}`).join(' ');

/** Advice to mount a directory of the host under another path. */
export const addMount = (source: string, destination: string): string =>
  `Add -v ${shellWord(`${source}:${destination}`)} to the docker run command.`;

/** A text as one word of a shell command, quoted only if necessary. */
export const shellWord = (text: string): string =>
  /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Advice to mount directories of the host that are missing in the container. */
export const addMounts = (...directories: readonly string[]): string =>
  `Add ${mountFlags(...directories)} to the docker run command.`;
