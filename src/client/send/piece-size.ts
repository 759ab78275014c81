/** Bytes. What a server takes at most, and what is sent where a line is as slow as that. */
const [largest, smallest] = [8 * 1024 * 1024, 64 * 1024];
/** Milliseconds that a piece should take: somebody sees that it moves, and little is lost where the line breaks. */
const [soon, late] = [2_000, 15_000];
/** So many pieces that come say that the last one that did not was not too large. */
const trusted = 16;

/** How large the next piece is: what a line takes in a few seconds, and no more than what is in between lets pass. */
export class PieceSize {
  /** Most proxies take that much. */
  bytes = 1024 * 1024;
  /** What was not too large. */
  #most = largest;
  #now = largest;
  #came = 0;

  /** A piece of this size has come, in so many milliseconds. */
  came(ms: number): void {
    this.#came += 1;
    if (this.#came === trusted) this.#now = this.#most;
    if (ms < soon) this.bytes = Math.min(this.bytes * 2, this.#now);
    if (ms > late) this.#shrink();
  }

  /** It did not come, perhaps as it was too large: what refuses it may just hang up. */
  broke(): void {
    this.#shrink();
    this.#now = this.bytes;
    this.#came = 0;
  }

  /** Something in between has said so; false where it could hardly be smaller. */
  tooLarge(): boolean {
    if (this.bytes <= smallest) return false;
    this.broke();
    this.#most = this.bytes;
    return true;
  }

  #shrink(): void {
    this.bytes = Math.max(this.bytes / 2, smallest);
  }
}
