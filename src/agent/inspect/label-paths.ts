/**
 * The paths of a label, which compose joins by commas and does not escape: one in the name of the project's directory
 * separates nothing, nor does one that neither an absolute path nor an address (`oci://…`) follows. Relative paths, of docker-compose 1, stay apart.
 */
export function splitPaths(label: string, directory: string): string[] {
  const [first = ''] = label;
  if (first !== '/') return label.split(',').filter(Boolean);
  const hidden = label.replaceAll(`${directory}/`, '/\0/');
  return hidden
    .split(/,(?=\/|[a-z]+:\/\/|-$)/)
    .map((path) => path.replaceAll('/\0/', `${directory}/`))
    .filter(Boolean);
}
