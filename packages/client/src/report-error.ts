/**
 * Calls an app's own listener. An error of it is reported as browsers do for listeners, elsewhere on the
 * console: the client's own work goes on.
 */
export function callListener(listener: () => unknown): void {
  try {
    listener();
  } catch (error) {
    ((globalThis as { reportError?: (error: unknown) => void }).reportError ?? console.error)(error);
  }
}
