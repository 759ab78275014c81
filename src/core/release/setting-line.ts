import { mistakeInValue } from './release-settings.ts';

/**
 * The line of a setting in the file that the updater reads with the package `dotenv`; null if no line can hold the value. A
 * backslash before a closing quote would not end the value there, and only double quotes give a backslash a meaning.
 */
export function settingLine(name: string, value: string): string | null {
  if (mistakeInValue(value) !== null) return null;
  if (value.endsWith('\\')) return /^[^\s'"`#][^'"`#]*$/.test(value) ? `${name}=${value}` : null;
  const quote = ["'", '"', '`'].find((one) => !value.includes(one) && (one !== '"' || !/\\[nr]/.test(value)));
  return quote === undefined ? null : `${name}=${quote}${value}${quote}`;
}
