import type { FileChange } from '../../../core/compose/draft.ts';
import { parseEnvAssignments } from '../../../core/compose/env-file.ts';
import { listEnvFiles, type ProjectFiles } from '../../../core/compose/project-files.ts';
import { createUnifiedDiff } from '../../../core/text/unified-diff.ts';

/**
 * Formats the changes in a file. Unchanged lines, comments and the values of `hidden` variables may be secret, so they
 * are left out. With `isShipped`, the lines around a change are shown, because the text comes from a release.
 */
export function formatFileDifference(
  name: string,
  { path, before, after }: Pick<FileChange, 'path' | 'before' | 'after'>,
  files: ProjectFiles,
  { isShipped = false, hidden = [] }: { isShipped?: boolean; hidden?: readonly string[] } = {},
): string[] {
  const isEnvFile = path === files.newEnvFile || listEnvFiles(files).some((file) => file.path === path);
  const hide = isEnvFile ? (line: string) => withoutEnvComment(line, hidden) : withoutYamlComment;
  return createUnifiedDiff(name, before, after, isShipped ? 3 : 0).map((line, index) =>
    index < 2 || (isShipped && !line.startsWith('-')) ? line : hide(line),
  );
}

/** Replaces the text of a YAML comment with `…`: `+    image: svc:v1.5.0 # …` */
const withoutYamlComment = (line: string): string =>
  /^[-+]/.test(line) ? line.replace(/(?<=[-+\s])#.*?(\r?)$/s, '# …$1') : line;

/** Replaces the comment in a line by `…`: `+SVC_VERSION=v1.5.0 # …`. Also replaces the value of a `hidden` variable. */
function withoutEnvComment(line: string, hidden: readonly string[]): string {
  const sign = line.charAt(0);
  if (sign !== '+' && sign !== '-') return line;
  const text = line.slice(1);
  const [assignment] = assignmentsIn(text);
  if (!assignment) return `${sign}…`;
  if (hidden.includes(assignment.key)) return `${sign}${assignment.key}=…`;
  const valueEnd = assignment.end + assignment.quote.length;
  return `${sign}${text.slice(0, valueEnd)}${text.slice(valueEnd).replace(/#.*?(\r?)$/s, '# …$1')}`;
}

function assignmentsIn(line: string) {
  try {
    return parseEnvAssignments({ path: '', text: line });
  } catch {
    return [];
  }
}
