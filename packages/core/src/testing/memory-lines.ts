/** Returns the destination of a logger that keeps its lines of JSON in memory, and how to read them. */
export function memoryLines() {
  let text = "";
  return {
    destination: {
      write: (line: string) => {
        text += line;
      },
    },
    lines: () =>
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => text,
  };
}
