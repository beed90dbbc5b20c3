/** Reports an error of an app's own function, as browsers do for listeners; elsewhere on the console. */
export const reportError = (error: unknown): void =>
  ((globalThis as { reportError?: (error: unknown) => void }).reportError ?? console.error)(error);
