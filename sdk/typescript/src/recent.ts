const kept = 512;

/** The last few hundred ids that were added. */
export class Recent {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size <= kept) return;
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest); // sets keep the order of insertion
      return;
    }
  }
}
