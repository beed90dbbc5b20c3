/** Returns whether there is a process of this number, ours to signal. */
export function isRunning(pid: number): boolean {
  try {
    // 0 would be our own group.
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}
