import { Failure } from "@countersign/build/fail.ts";
import { type Child, logTail, type StartChild, startChild } from "./child.ts";

/** The tiers of a stack: the highest stops first. */
export const TIERS = { infrastructure: 0, service: 1, gateway: 2 } as const;

/** Returns a line about how a process ended and where its log is. After SIGKILL the log has no reason. */
export function describeExit({ name, pid, logFile }: Pick<Child, "name" | "pid" | "logFile">, how: string): string {
  const signal = how.match(/^signal (\w+)$/)?.[1];
  const ended = signal === undefined ? `ended with ${how}` : `was killed by ${signal}`;
  return `${name} (pid ${pid}) ${ended}${signal === "SIGKILL" ? "." : `: see ${logFile}`}`;
}

/** Starts the stack's processes in tiers, reports when one ends, and stops the newest tier first. */
export class Supervisor {
  readonly #tiers: Child[][] = [];
  readonly #say: (line: string) => void;
  readonly #died: (name: string) => void;
  readonly #starting = new Set<Promise<Child>>();
  /** Names that were started before: their logs are continued. */
  readonly #known = new Set<string>();
  readonly #condemned = new WeakSet<Child>();
  #stopping: Promise<void> | undefined;
  #failStart: (error: Failure) => void = () => undefined;
  #ready = false;

  /** Rejects when a process ends before the stack is ready: race it against the start. */
  readonly diedEarly: Promise<never>;

  /** `died` is called with the name of a process that ended by itself once everything was ready. */
  constructor(say: (line: string) => void, died: (name: string) => void = () => undefined) {
    this.#say = say;
    this.#died = died;
    this.diedEarly = new Promise((_, reject) => {
      this.#failStart = reject;
    });
    this.diedEarly.catch(() => undefined);
  }

  get children(): Child[] {
    return this.#tiers.flat();
  }

  /** How to start a child of a tier. Children of one tier stop together; later tiers stop first. */
  starter(tier: number): StartChild {
    return async (options) => {
      if (this.#stopping) throw new Failure(`${options.name} was not started: the stack is being stopped.`);
      const started = startChild({ ...options, appendLog: this.#known.has(options.name) });
      this.#known.add(options.name);
      this.#starting.add(started);
      const child = await started.finally(() => this.#starting.delete(started));
      this.#add(tier, child);
      return child;
    };
  }

  #add(tier: number, child: Child): void {
    this.#tiers[tier] ??= [];
    this.#tiers[tier].push(child);
    child.exited.then((how) => {
      if (this.#stopping || this.#condemned.has(child)) return;
      const line = describeExit(child, how);
      if (!this.#ready) return this.#failStart(new Failure(`${line}\n${logTail(child.logFile)}`));
      this.#say(line);
      this.#remove(child);
      this.#died(child.name);
    });
  }

  /** The child of this name that was started last. */
  find(name: string): Child | undefined {
    return this.children.findLast((child) => child.name === name);
  }

  /** Kills one child on request, without a report. */
  killOne(name: string): Promise<void> {
    return this.#endOne(name, (child) => child.kill());
  }

  /** Asks one child to end, as a deployment does, and waits until it has. */
  stopOne(name: string): Promise<void> {
    return this.#endOne(name, (child) => child.stop());
  }

  async #endOne(name: string, end: (child: Child) => Promise<void>): Promise<void> {
    const child = this.find(name);
    if (!child) throw new Failure(`there is no process ${name} to end.`);
    this.#condemned.add(child);
    await end(child);
    this.#remove(child);
  }

  #remove(child: Child): void {
    for (const [tier, children] of this.#tiers.entries()) {
      this.#tiers[tier] = (children ?? []).filter((other) => other !== child);
    }
  }

  ready(): void {
    this.#ready = true;
  }

  /** Ends everything, by force after a time. Safe to call again. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopTiers();
    return this.#stopping;
  }

  async #stopTiers(): Promise<void> {
    // Waits for processes that are just being started, so that each is in its tier when that is stopped.
    await Promise.allSettled(this.#starting);
    for (const tier of this.#tiers.toReversed()) await Promise.all((tier ?? []).map((child) => child.stop()));
  }

  /** Kills the remaining processes without waiting, for a second Ctrl-C. */
  kill(): void {
    for (const child of this.children) if (child.running()) process.kill(-child.pid, "SIGKILL");
  }
}
