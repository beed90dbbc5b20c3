import { setTimeout as sleep } from "node:timers/promises";
import type { Judge } from "./controller.ts";
import { type FaultStack, type Program, programs, replicasOf } from "./fault-stack.ts";
import type { Random } from "./seed.ts";

/** Processes that may be down at the same time, of different programs. */
const MAX_DOWN = 3;
/** How long a process is held at a point before kills begin. One kill serves all points reached meanwhile. */
const GATHER_MS = 300;
/** The longest time a process is held at a point: a call passes several points within its deadline. */
const MAX_HOLD_MS = 1_500;
const POLL_MS = 20;

/** One kill of the matrix: a process of `victim` is killed while a process is held at `point`. */
export interface Cell {
  point: string;
  victim: Program;
  /** The process that was killed, once one was. */
  killed?: string;
  /** E-mail addresses of the persons whose operations were running then. */
  during?: readonly string[];
}

interface FaultPoint {
  readonly point: string;
  readonly process: string;
}

/** A process that is held at a point until it may continue or is killed. */
interface Held extends FaultPoint {
  since: number;
  goOn(): void;
}

export interface KillScheduler {
  judge: Judge;
  /** Returns the number of cells without a kill yet. */
  open(): number;
  kills(): number;
  /** Lets all processes continue, and kills no more. */
  stop(): Promise<void>;
}

const programOf = (process: string): Program => process.replace(/-\d+$/, "") as Program;

/**
 * Holds a process for a moment when it reaches a point with open cells, then kills the processes that cover
 * the most open cells. For a cell of the point's own program, that is the process which reached the point.
 * One process of every program stays up.
 */
export function createKillScheduler(
  stack: FaultStack,
  cells: readonly Cell[],
  publishers: readonly Program[],
  random: Random,
  log: (line: string) => void,
  underWay: () => readonly string[] = () => [],
): KillScheduler {
  const open = new Set(cells);
  const held = new Set<Held>();
  let stopped = false;
  let kills = 0;

  const nameOf = (pid: number) => Object.entries(stack.stack.processes).find(([, running]) => running.pid === pid)?.[0];
  const names = programs.flatMap(replicasOf);
  const down = () => names.filter((name) => !stack.isUp(name)).length;
  const whole = (program: Program) => replicasOf(program).every((name) => stack.isUp(name));
  const covers = (cell: Cell, { point, process }: FaultPoint, name: string): boolean => {
    if (cell.point !== point) return false;
    if (programOf(process) === cell.victim) return process === name;
    // Every service has an outbox: for a service with events to publish, its own publisher must be killed.
    return !(point.startsWith("outbox/") && publishers.includes(cell.victim));
  };
  const coveredBy = (name: string): Cell[] =>
    [...open].filter((cell) => cell.victim === programOf(name) && [...held].some((each) => covers(cell, each, name)));

  async function killOne(): Promise<boolean> {
    const candidates = random
      .shuffle(names.filter((name) => whole(programOf(name))))
      .map((name) => ({ name, cells: coveredBy(name) }))
      .sort((a, b) => b.cells.length - a.cells.length);
    const [best] = candidates;
    if (!best || best.cells.length === 0) return false;
    for (const cell of best.cells) {
      cell.killed = best.name;
      cell.during = underWay();
      open.delete(cell);
    }
    kills += 1;
    log(`${best.name} is killed at ${[...new Set(best.cells.map(({ point }) => point))].join(", ")}`);
    for (const each of held) if (each.process === best.name) held.delete(each);
    await stack.bounce(best.name);
    return true;
  }

  /**
   * Returns whether a kill at this point covers an open cell; if not, holding a process would keep others
   * away.
   */
  const wanted = (at: FaultPoint) =>
    [...open].some((cell) => replicasOf(cell.victim).some((name) => covers(cell, at, name)));

  /** Returns whether a process has been held long enough at a point that is still wanted. */
  const gathered = () => [...held].some((each) => wanted(each) && performance.now() - each.since >= GATHER_MS);

  const working = (async () => {
    while (!stopped) {
      // Several kills together, so that all processes are up in between and reach every point again.
      if (down() === 0 && gathered()) while (down() < MAX_DOWN && (await killOne()));
      for (const each of held) {
        if (wanted(each) && performance.now() - each.since < MAX_HOLD_MS) continue;
        held.delete(each);
        each.goOn();
      }
      await sleep(POLL_MS);
    }
  })();

  return {
    judge: ({ point, pid }) => {
      const process = nameOf(pid);
      if (stopped || process === undefined || !stack.isUp(process) || !wanted({ point, process })) return;
      // One process per point: the others continue to other points.
      if ([...held].some((each) => each.point === point)) return;
      return new Promise<void>((goOn) => {
        held.add({ point, process, since: performance.now(), goOn });
      });
    },
    open: () => open.size,
    kills: () => kills,
    async stop() {
      stopped = true;
      await working;
      for (const { goOn } of held) goOn();
      held.clear();
    },
  };
}
