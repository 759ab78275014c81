/** Both values without their equal parts; undefined if they are equal. Plain data only. */
export function difference(
  expected: unknown,
  actual: unknown,
): { expected: unknown; actual: unknown } | undefined {
  if (!isRecord(expected) || !isRecord(actual)) {
    return JSON.stringify(expected) === JSON.stringify(actual) ? undefined : { expected, actual };
  }
  const left: Record<string, unknown> = {};
  const right: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const found = difference(expected[key], actual[key]);
    if (found === undefined) continue;
    left[key] = found.expected;
    right[key] = found.actual;
  }
  return Object.keys(left).length === 0 ? undefined : { expected: left, actual: right };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
