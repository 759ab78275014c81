import { type Product, svcProduct } from '../names/product.ts';

/** Values of the fields in advice texts. */
interface AdviceFields {
  /** Command to run again: `the update` or `rollback --yes`. */
  command?: string;
  /** Compose command with the flags that it needs to find the project. */
  compose?: string;
  /** Compose command that applies the current files. It lists services if other services must not be recreated. */
  up?: string;
  product?: Product;
}

/** Replaces the fields `{command}`, `{compose}`, `{up}`, `{product}` and `{container}` in an advice text. */
export const formatAdvice = (
  template: string,
  {
    command = 'the update',
    compose = 'docker compose',
    up = `${compose} up -d`,
    product = svcProduct,
  }: AdviceFields = {},
): string =>
  fillFields(template, { command, compose, up, product: product.name, container: product.containerName });

/** Replaces the fields in a text. `${name}` is not a field but a variable of a compose file. */
export const fillFields = (template: string, fields: Readonly<Record<string, string>>): string =>
  template.replaceAll(/(?<!\$)\{(\w+)\}/g, (whole, name) =>
    Object.hasOwn(fields, name) ? (fields[name] ?? whole) : whole,
  );

/** Advice for a process that must run as root, because the files may belong to any user. */
export const runAsRootAdvice =
  'Run the updater as root, without --user. On NFS, export with no_root_squash. If capabilities are dropped, add CHOWN, DAC_OVERRIDE and FOWNER.';

/**
 * Returns the docker flags that mount directories of the host at the same paths, each directory once:
 * `-v /opt/a:/opt/a -v /opt/b:/opt/b`.
 */
export const formatMountFlags = (...directories: readonly string[]): string =>
  [...new Set(directories)].map((directory) => `-v ${quoteForShell(`${directory}:${directory}`)}`).join(' ');

/** Returns the advice to mount a directory of the host at another path. */
export const mountAdviceFor = (source: string, destination: string): string =>
  `Add -v ${quoteForShell(`${source}:${destination}`)} to the docker run command.`;

/** Quotes a text as one word of a shell command if necessary. */
export const quoteForShell = (text: string): string =>
  /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Returns the advice to mount host directories that are missing in the container, each at the same path. */
export const samePathMountsAdviceFor = (...directories: readonly string[]): string =>
  `Add ${formatMountFlags(...directories)} to the docker run command.`;
