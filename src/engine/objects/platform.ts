/** Docker's architecture names, keyed by the kernel's names. */
const others: Readonly<Record<string, string>> = { aarch64: 'arm64', x86_64: 'amd64' };

/** Additional platform whose programs a machine can run, keyed by the machine's own platform. */
const runsToo: Readonly<Record<string, string>> = { 'linux/amd64': 'linux/386', 'linux/arm64': 'linux/arm' };

/**
 * Normalizes a platform: `linux/arm64/v8`, `linux/aarch64` and `arm64` become `linux/arm64`. The variant is omitted,
 * because the engine chooses it.
 */
export function normalizePlatform(text: string): string {
  const parts = text.toLowerCase().split('/');
  const [os, machine = ''] = parts.length === 1 ? ['linux', ...parts] : parts;
  return `${os}/${others[machine] ?? machine}`;
}

/**
 * Returns the platform of a new container; null if the container cannot be created.
 * @param here - local platforms of the image
 * @param chosen - requested platform; if null, the engine's own, or another local platform if the image lacks it
 */
export function findContainerPlatform(
  here: readonly string[],
  chosen: string | null,
  own: string,
): string | null {
  const wanted = chosen ?? own;
  const fitting = [wanted, runsToo[wanted]].find((each) => each !== undefined && here.includes(each));
  return fitting ?? (chosen === null ? (here[0] ?? null) : null);
}
