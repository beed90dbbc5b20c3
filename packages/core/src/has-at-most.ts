/** Returns whether a text has at most `max` characters: Unicode code points, as JSON Schema counts them. */
export const hasAtMost = (text: string, max: number): boolean =>
  text.length <= max || (text.length <= 2 * max && [...text].length <= max);
