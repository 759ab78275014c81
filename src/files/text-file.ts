/** A file's text as it is on disk: with its byte order mark and its line ends. Offsets count UTF-16 units of it. */
export interface TextFile {
  path: string;
  text: string;
}
