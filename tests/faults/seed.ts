import { randomInt } from "node:crypto";
import { seededRandom as generator } from "@countersign/local-stack/testing/seeded-random.ts";

/** Numbers that follow from a seed: the same seed gives the same choices. */
export interface Random {
  seed: number;
  /** 0 to 1, without 1. */
  next(): number;
  /** A whole number from 0 to `below`, without it. */
  below(below: number): number;
  pick<T>(list: readonly T[]): T;
  shuffle<T>(list: readonly T[]): T[];
}

/** From FAULT_SEED, else a new seed; printed in either case, so that a run can be had again. */
export function seededRandom(what: string): Random {
  const seed = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
  console.log(`${what}: FAULT_SEED=${seed}`);
  const next = generator(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    seed,
    next,
    below,
    pick: (list) => list[below(list.length)] as (typeof list)[number],
    shuffle: (list) => {
      const shuffled = [...list];
      for (let i = shuffled.length - 1; i > 0; i -= 1) {
        const j = below(i + 1);
        [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
      }
      return shuffled;
    },
  };
}
