/** What the kernel calls a machine, and people after it. */
const others: Readonly<Record<string, string>> = { aarch64: 'arm64', x86_64: 'amd64' };

/** What a machine runs besides its own. */
const runsToo: Readonly<Record<string, string>> = { 'linux/amd64': 'linux/386', 'linux/arm64': 'linux/arm' };

/** `linux/arm64` of `linux/arm64/v8`, `linux/aarch64` or `arm64`: what of a kind of machine a variant is, is left to the engine. */
export function readPlatform(text: string): string {
  const parts = text.toLowerCase().split('/');
  const [os, machine = ''] = parts.length === 1 ? ['linux', ...parts] : parts;
  return `${os}/${others[machine] ?? machine}`;
}

/**
 * The platform of which a container is made, of those of its image that are here; null if it cannot be made.
 * @param chosen by whoever asks for the container; null if that is left to the engine, which takes its own, else what there is
 */
export function takenPlatform(here: readonly string[], chosen: string | null, own: string): string | null {
  const wanted = chosen ?? own;
  const fitting = [wanted, runsToo[wanted]].find((each) => each !== undefined && here.includes(each));
  return fitting ?? (chosen === null ? (here[0] ?? null) : null);
}
