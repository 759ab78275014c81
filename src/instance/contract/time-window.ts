/** A daily time window in the time zone of the server. */
export interface TimeWindow {
  from: string;
  to: string;
}

/** Whether a moment is in the window. If `from` equals `to`, the window is the whole day. */
export function isIn({ from, to }: TimeWindow, at: Date): boolean {
  const now = at.getHours() * 60 + at.getMinutes();
  const [begin, end] = [minutes(from), minutes(to)];
  if (begin === end) return true;
  return begin < end ? now >= begin && now < end : now >= begin || now < end;
}

/** Minutes since midnight. */
export const minutes = (clock: string): number => {
  const [hours = 0, rest = 0] = clock.split(':').map(Number);
  return hours * 60 + rest;
};
