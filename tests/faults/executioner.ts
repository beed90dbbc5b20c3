import { setTimeout as sleep } from "node:timers/promises";
import type { Judge } from "./controller.ts";
import { type FaultStack, type Program, programs, replicasOf } from "./fault-stack.ts";
import type { Random } from "./seed.ts";

/** Processes that are down at the same time, of different programs. */
const MOST_DOWN = 3;
/** How long somebody stands at a place before kills begin: others come to other places meanwhile, and one kill serves them all. */
const GATHER_MS = 300;
/** How long somebody stands at a place at most, if nobody dies for it: a call passes several places within its deadline. */
const PATIENCE_MS = 1_500;
const LOOK_MS = 20;

/** One kill of the matrix: `victim` dies while somebody stands at `point`. */
export interface Cell {
  point: string;
  victim: Program;
  /** What was killed, once it was. */
  killed?: string;
  /** Whose way was under way at that moment. */
  during?: readonly string[];
}

interface Place {
  readonly point: string;
  readonly process: string;
}

/** Somebody who stands at a place and waits to go on, or to die. */
interface Standing extends Place {
  since: number;
  goOn(): void;
}

export interface Executioner {
  judge: Judge;
  /** Cells that nobody has died for yet. */
  open(): number;
  kills(): number;
  /** Lets everybody go on, and kills no more. */
  stop(): Promise<void>;
}

const programOf = (process: string): Program => process.replace(/-\d+$/, "") as Program;

/**
 * Holds whoever reaches a place with open cells for a moment. Then the processes die that most open cells ask for: everybody who stands somewhere sees it. Of a place's own
 * program it is the very process that has reached it; of every program one process stays up.
 */
export function createExecutioner(
  stack: FaultStack,
  cells: readonly Cell[],
  publishers: readonly Program[],
  random: Random,
  told: (line: string) => void,
  underWay: () => readonly string[] = () => [],
): Executioner {
  const open = new Set(cells);
  const standing = new Set<Standing>();
  let stopped = false;
  let kills = 0;

  const nameOf = (pid: number) => Object.entries(stack.stack.processes).find(([, running]) => running.pid === pid)?.[0];
  const names = programs.flatMap(replicasOf);
  const down = () => names.filter((name) => !stack.isUp(name)).length;
  const whole = (program: Program) => replicasOf(program).every((name) => stack.isUp(name));
  const covers = (cell: Cell, { point, process }: Place, name: string): boolean => {
    if (cell.point !== point) return false;
    if (programOf(process) === cell.victim) return process === name;
    // Every service has an outbox: of those that have something to publish, the own publisher must die.
    return !(point.startsWith("outbox/") && publishers.includes(cell.victim));
  };
  const coveredBy = (name: string): Cell[] =>
    [...open].filter(
      (cell) => cell.victim === programOf(name) && [...standing].some((each) => covers(cell, each, name)),
    );

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
    told(`${best.name} is killed at ${[...new Set(best.cells.map(({ point }) => point))].join(", ")}`);
    for (const each of standing) if (each.process === best.name) standing.delete(each);
    await stack.bounce(best.name);
    return true;
  }

  /** Whether somebody can still die for it. Whoever stands in vain would keep those away from the place who are waited for. */
  const wanted = (place: Place) =>
    [...open].some((cell) => replicasOf(cell.victim).some((name) => covers(cell, place, name)));

  /** Whether somebody has stood long enough at a place that is still wanted. */
  const gathered = () => [...standing].some((each) => wanted(each) && performance.now() - each.since >= GATHER_MS);

  const working = (async () => {
    while (!stopped) {
      // All at once, so that everything is whole in between and people come to stand everywhere again.
      if (down() === 0 && gathered()) while (down() < MOST_DOWN && (await killOne()));
      for (const each of standing) {
        if (wanted(each) && performance.now() - each.since < PATIENCE_MS) continue;
        standing.delete(each);
        each.goOn();
      }
      await sleep(LOOK_MS);
    }
  })();

  return {
    judge: ({ point, pid }) => {
      const process = nameOf(pid);
      if (stopped || process === undefined || !stack.isUp(process) || !wanted({ point, process })) return;
      // One for each place: the others go on, and come to stand at other places.
      if ([...standing].some((each) => each.point === point)) return;
      return new Promise<void>((goOn) => {
        standing.add({ point, process, since: performance.now(), goOn });
      });
    },
    open: () => open.size,
    kills: () => kills,
    async stop() {
      stopped = true;
      await working;
      for (const { goOn } of standing) goOn();
      standing.clear();
    },
  };
}
