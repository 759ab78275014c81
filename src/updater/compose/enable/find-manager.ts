/** Directories of programs that regenerate compose files from their own database. */
const managedDirectories: readonly (readonly [form: RegExp, manager: string])[] = [
  [/^\/data\/compose\/\d+(?:\/|$)/, 'Portainer'],
  [/^\/data\/coolify\//, 'Coolify'],
  [/^\/var\/lib\/casaos\//, 'CasaOS'],
  [/^\/etc\/dokploy\//, 'Dokploy'],
  [/\/umbrel\/app-data\//, 'umbrelOS'],
];

/** Returns the program that manages a compose directory; null if there is none. */
export const findManager = (directory: string): string | null =>
  managedDirectories.find(([form]) => form.test(directory))?.[1] ?? null;
