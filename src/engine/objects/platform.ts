/** Docker's names of architectures, by the names that the kernel uses. */
const others: Readonly<Record<string, string>> = { aarch64: 'arm64', x86_64: 'amd64' };

/** Additional platforms that machines can run, by the platform of the machine. */
const runsToo: Readonly<Record<string, string>> = { 'linux/amd64': 'linux/386', 'linux/arm64': 'linux/arm' };

/**
 * Normalizes a platform: `linux/arm64/v8`, `linux/aarch64` and `arm64` become `linux/arm64`. The variant is left out,
 * because the engine chooses it.
 */
export function parsePlatform(text: string): string {
  const parts = text.toLowerCase().split('/');
  const [os, machine = ''] = parts.length === 1 ? ['linux', ...parts] : parts;
  return `${os}/${others[machine] ?? machine}`;
}

/**
 * Returns the platform of a new container, among the local platforms of its image; null if the container cannot be
 * created.
 * @param here local platforms of the image
 * @param chosen requested platform; if null, the engine chooses its own platform, or else another local platform
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
