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
