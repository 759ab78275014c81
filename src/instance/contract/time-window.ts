/** From when to when, by the wall clock of the server: `{ from: '23:00', to: '05:00' }` is the night. */
export interface TimeWindow {
  from: string;
  to: string;
}

/** Whether a moment is in the window; one that ends as it begins is the whole day. */
export function isIn({ from, to }: TimeWindow, at: Date): boolean {
  const now = at.getHours() * 60 + at.getMinutes();
  const [begin, end] = [minutes(from), minutes(to)];
  if (begin === end) return true;
  return begin < end ? now >= begin && now < end : now >= begin || now < end;
}

/** Since midnight. */
export const minutes = (clock: string): number => {
  const [hours = 0, rest = 0] = clock.split(':').map(Number);
  return hours * 60 + rest;
};
