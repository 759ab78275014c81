/** Prints more than a string can hold, without a line break. */
const endless = "/bin/busybox head -c 600000000 /dev/zero | /bin/busybox tr '\\0' y";
/** Commands that fill an output and then fail. */
export const endlessOutputs = [
  ['standard error', `${endless} >&2; echo >&2; echo the last line >&2; exit 3`],
  ['standard output', `${endless}; exit 3`],
] as const;

/** Memory limits below the size of that output. */
export const limitedMemory = { docker: ['--memory', '256m', '--memory-swap', '256m'] };
