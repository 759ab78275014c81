export function parseObject(line: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}
