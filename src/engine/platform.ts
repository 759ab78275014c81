/** Usual names of architectures by the kernel's names. */
const others: Readonly<Record<string, string>> = { aarch64: 'arm64', x86_64: 'amd64' };

/** Platform that a machine can run besides its own. */
const runsToo: Readonly<Record<string, string>> = { 'linux/amd64': 'linux/386', 'linux/arm64': 'linux/arm' };

/**
 * Normalises a platform: `linux/arm64` for `linux/arm64/v8`, `linux/aarch64` or `arm64`. The engine chooses the
 * variant.
 */
export function parsePlatform(text: string): string {
  const parts = text.toLowerCase().split('/');
  const [os, machine = ''] = parts.length === 1 ? ['linux', ...parts] : parts;
  return `${os}/${others[machine] ?? machine}`;
}

/**
 * Returns the platform of a new container, among the local platforms of its image; null if the container cannot be
 * created.
 * @param chosen requested platform; null if the engine chooses its own platform, or another local platform
 */
export function platformInUse(here: readonly string[], chosen: string | null, own: string): string | null {
  const wanted = chosen ?? own;
  const fitting = [wanted, runsToo[wanted]].find((each) => each !== undefined && here.includes(each));
  return fitting ?? (chosen === null ? (here[0] ?? null) : null);
}
