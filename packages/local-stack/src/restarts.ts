import { Failure } from "@countersign/build/fail.ts";

/** How each process of a stack was started, so that it can be started the same way again. */
export interface Restarts {
  begin<T>(name: string, start: () => Promise<T>): Promise<T>;
  /** Starts it again. Failure where there never was such a process. */
  again(name: string): Promise<void>;
}

export function createRestarts(): Restarts {
  const starts = new Map<string, () => Promise<unknown>>();
  return {
    begin(name, start) {
      starts.set(name, start);
      return start();
    },
    async again(name) {
      const start = starts.get(name);
      if (!start) throw new Failure(`there is no process ${name} to start again.`);
      await start();
    },
  };
}
