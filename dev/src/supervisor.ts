import type { Child } from "./child.ts";
import { Failure } from "./fail.ts";

/** Keeps the stack's processes in the order they came, says when one dies, and stops them newest first. */
export class Supervisor {
  readonly #tiers: Child[][] = [];
  readonly #say: (line: string) => void;
  #stopping: Promise<void> | undefined;
  #failStart: (error: Failure) => void = () => undefined;
  #ready = false;

  /** Rejects when a process ends before the stack is ready: race it against the start. */
  readonly diedEarly: Promise<never>;

  constructor(say: (line: string) => void) {
    this.#say = say;
    this.diedEarly = new Promise((_, reject) => {
      this.#failStart = reject;
    });
    this.diedEarly.catch(() => undefined);
  }

  get children(): Child[] {
    return this.#tiers.flat();
  }

  /** Children of one tier stop together; later tiers stop first. */
  add(tier: number, child: Child): Child {
    this.#tiers[tier] ??= [];
    this.#tiers[tier].push(child);
    child.exited.then((how) => {
      if (this.#stopping) return;
      const line = `${child.name} (pid ${child.pid}) died with ${how}: ${child.logFile} says why.`;
      if (this.#ready) this.#say(`countersign: ${line} Stop the stack and start it again.`);
      else this.#failStart(new Failure(line));
    });
    if (this.#stopping) void child.stop();
    return child;
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
    for (const tier of this.#tiers.toReversed()) await Promise.all((tier ?? []).map((child) => child.stop()));
  }

  /** Kills what is left without waiting for it to be done: for somebody who asks a second time. */
  kill(): void {
    for (const child of this.children) if (child.running()) process.kill(-child.pid, "SIGKILL");
  }
}
