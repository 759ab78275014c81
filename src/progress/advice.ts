/** The files may belong to anybody. */
export const needsRoot =
  'Run the updater as root, without --user (on NFS, with no_root_squash); where capabilities are dropped, add CHOWN, DAC_OVERRIDE and FOWNER.';

/** Flags that mount directories of the host at their own paths, each once: `-v /opt/a:/opt/a -v /opt/b:/opt/b`. */
export const mountFlags = (...directories: readonly string[]): string =>
  [...new Set(directories)].map((directory) => `-v ${shellWord(`${directory}:${directory}`)}`).join(' ');

/** What to do where a directory of the host has to be mounted under another path. */
export const addMount = (source: string, destination: string): string =>
  `Add -v ${shellWord(`${source}:${destination}`)} to the docker run command.`;

/** A text as one word of a shell's command, quoted only where it has to be. */
export const shellWord = (text: string): string =>
  /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** What to do where directories of the host are missing here. */
export const addMounts = (...directories: readonly string[]): string =>
  `Add ${mountFlags(...directories)} to the docker run command.`;
