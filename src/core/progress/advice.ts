import { type Product, svcProduct } from './product.ts';

/** Values of the fields in advice texts. */
interface AdviceFields {
  /** Command to run again: `the update` or `rollback --yes`. */
  command?: string;
  /** Command with which compose finds the project. */
  compose?: string;
  /** Compose command that applies all files. It lists services if other services must not be recreated. */
  up?: string;
  product?: Product;
}

/** Fills in the fields `{command}`, `{compose}`, `{up}`, `{product}` and `{container}` of an advice text. */
export const adviceText = (
  template: string,
  {
    command = 'the update',
    compose = 'docker compose',
    up = `${compose} up -d`,
    product = svcProduct,
  }: AdviceFields = {},
): string =>
  fillFields(template, { command, compose, up, product: product.name, container: product.containerName });

/** Fills in the fields of a text. `${name}` is a variable of a compose file and not a field. */
export const fillFields = (template: string, fields: Readonly<Record<string, string>>): string =>
  template.replaceAll(/(?<!\$)\{(\w+)\}/g, (whole, name) =>
    Object.hasOwn(fields, name) ? (fields[name] ?? whole) : whole,
  );

/** Advice for a process that needs root, because the files may belong to any user. */
export const runAsRootAdvice =
  'Run the updater as root, without --user. On NFS, export with no_root_squash. If capabilities are dropped, add CHOWN, DAC_OVERRIDE and FOWNER.';

/**
 * Returns flags that mount directories of the host at the same paths, each once: `-v /opt/a:/opt/a -v /opt/b:/opt/b`.
 */
export const mountFlags = (...directories: readonly string[]): string =>
  [...new Set(directories)].map((directory) => `-v ${quoteForShell(`${directory}:${directory}`)}`).join(' ');

/** Returns the advice to mount a directory of the host at another path. */
export const mountAdviceFor = (source: string, destination: string): string =>
  `Add -v ${quoteForShell(`${source}:${destination}`)} to the docker run command.`;

/** Quotes a text as one word of a shell command, only if necessary. */
export const quoteForShell = (text: string): string =>
  /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Returns the advice to mount directories of the host that are missing in the container. */
export const samePathMountsAdviceFor = (...directories: readonly string[]): string =>
  `Add ${mountFlags(...directories)} to the docker run command.`;
