import { type Product, svcProduct } from '../names/product.ts';

interface AdviceFields {
  /** What to run again: the words "the update", or the command `rollback --yes`. */
  command?: string;
  /** Compose command with all flags that are needed to find the project. */
  compose?: string;
  /** Compose command that applies the current files. It names services only if the others must not be recreated. */
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

/** Replaces fields such as `{name}`. `${name}` is a compose variable and is not replaced. */
export const fillFields = (template: string, fields: Readonly<Record<string, string>>): string =>
  template.replaceAll(/(?<!\$)\{(\w+)\}/g, (whole, name) =>
    Object.hasOwn(fields, name) ? (fields[name] ?? whole) : whole,
  );

/** The updater needs root because the files may belong to any user. */
export const runAsRootAdvice =
  'Run the updater as root, without --user. On NFS, export with no_root_squash. If capabilities are dropped, add CHOWN, DAC_OVERRIDE and FOWNER.';

/** Mounts each host directory once, at the same path in the container: `-v /opt/a:/opt/a -v /opt/b:/opt/b`. */
export const formatMountFlags = (...directories: readonly string[]): string =>
  [...new Set(directories)].map((directory) => `-v ${quoteForShell(`${directory}:${directory}`)}`).join(' ');

export const formatMountAdvice = (source: string, destination: string): string =>
  `Add -v ${quoteForShell(`${source}:${destination}`)} to the docker run command.`;

/** Returns the text unchanged if it needs no quotes. */
export const quoteForShell = (text: string): string =>
  /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

export const formatSamePathMountAdvice = (...directories: readonly string[]): string =>
  `Add ${formatMountFlags(...directories)} to the docker run command.`;
