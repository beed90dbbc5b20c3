import { startSignerWithoutAudit } from "../audit-off/start-signer.ts";
import { startFloor } from "../floors/start-floor.ts";
import { fixedRate, type Measured } from "../load.ts";
import { messagesOf, newMessagesOf, type Signer } from "../messages.ts";
import { bareUnary, overHttp, overStream, overUnary, type SigningUsers } from "../signing-users.ts";
import { withCpu } from "../with-cpu.ts";
import type { Case, Row } from "./case.ts";
import { measureFullLoad } from "./paymaster.ts";

const FLOOR = "coalesced stream, signing, 128 under way";
const UNARY_FLOOR = "bare grpc-js unary, 128 under way";
/** A record is durable after a disk flush; with few requests in flight, all of them would wait for it. */
const IN_FLIGHT_PER_CONNECTION = 4;
const WITH_AND_WITHOUT_ROUNDS = 3;
/** More than a row of the default duration uses. */
const NEW_PER_PERSON = 8_000;

/**
 * Measures both operations of the signer: over gRPC on a stream and by unary calls, through the gateway, at
 * half load, and without audit records.
 */
export const signer: Case = async (bench) => {
  const { stack } = bench;
  const people = await messagesOf(bench);
  const count = bench.connections * IN_FLIGHT_PER_CONNECTION;
  const address = stack.processes.signer!.grpc!;
  const floors = await startFloors();
  const rows: Row[] = [...floors.rows];

  /**
   * Measures the floors. The coalesced stream's is measured again between the rows, because the speed of a
   * machine changes from minute to minute.
   */
  async function startFloors() {
    const bare = await startFloor("floor-signer");
    const unary = await measureFullLoad(bareUnary(bare.address, people, "transaction", count), bench);
    const gateway = await startFloor("floor-gateway", bare.address, "stream");
    // The floor signs any message, and has the paymaster's path only.
    const http = () => overHttp(`http://${gateway.address}`, people, "paymaster", count);
    const coalesced = await measureFullLoad(http(), bench);
    const again = http();
    const half = await fixedRate(again.users, coalesced.perSecond / 2, bench);
    again.close();
    const runs = [coalesced];
    const rows: Row[] = [
      { name: `${FLOOR}, half load`, measured: half },
      { name: UNARY_FLOOR, measured: unary },
    ];
    return {
      rows,
      async measureAgain() {
        bench.say("  the floor again …");
        runs.push(await measureFullLoad(http(), bench));
      },
      end(): Row {
        gateway.stop();
        bare.stop();
        const seen = runs.map(({ perSecond }) => Math.round(perSecond)).join(", ");
        bench.say(`  the floor was ${seen}/s; its row is the median`);
        return { name: FLOOR, measured: median(runs) };
      },
    };
  }

  /** Measures one kind of client at full load and, if `half`, at half load. */
  async function measure(name: string, users: () => SigningUsers, goals: Partial<Row>, half: boolean): Promise<void> {
    bench.say(`  ${name} …`);
    const full = await withCpu(stack, bench, (timed) => measureFullLoad(users(), timed));
    rows.push({ name, ...full, ...goals });
    if (!half) return;
    const again = users();
    const atHalf = await withCpu(stack, bench, (timed) => fixedRate(again.users, full.measured.perSecond / 2, timed));
    again.close();
    rows.push({ name: `${name}, half load`, ...atHalf, goalP99: 10 });
  }

  for (const each of ["transaction", "paymaster"] as const satisfies Signer[]) {
    const goals = { floor: FLOOR, goal: 0.6 };
    await measure(`${each} on a stream`, () => overStream(stack, address, people, each, count), goals, true);
    await measure(
      `${each} through the gateway, 128 under way`,
      () => overHttp(stack.gateway, people, each, count),
      goals,
      true,
    );
    await measure(`${each}, unary`, () => overUnary(stack, people, each, count), { floor: UNARY_FLOOR }, false);
    await floors.measureAgain();
  }
  const unrepeated = await newMessagesOf(bench, NEW_PER_PERSON);
  const goals = { floor: FLOOR, goal: 0.6 };
  const asking = () => overStream(stack, address, unrepeated, "transaction", count);
  await measure("transaction on a stream, each a new one", asking, goals, false);
  rows.push(...(await withAndWithoutRecords()));
  await floors.measureAgain();
  return [floors.end(), ...rows];

  /** Measures by turns, so that the machine's speed is the same for all. */
  async function withAndWithoutRecords(): Promise<Row[]> {
    bench.say("  with and without records …");
    const charging = await startSignerWithoutAudit(stack, "charges");
    const idle = await startSignerWithoutAudit(stack, "nothing");
    const short = { seconds: bench.seconds / 2, warmUpSeconds: bench.warmUpSeconds / 2 };
    const run = (to: string) => measureFullLoad(overStream(stack, to, people, "transaction", count), short);
    const [kept, unkept, nothing]: [Measured[], Measured[], Measured[]] = [[], [], []];
    for (const { address: warmed } of [charging, idle]) await run(warmed);
    for (let round = 0; round < WITH_AND_WITHOUT_ROUNDS; round++) {
      unkept.push(await run(charging.address));
      kept.push(await run(address));
      nothing.push(await run(idle.address));
    }
    charging.stop();
    idle.stop();
    const name = "transaction on a stream, without records";
    return [
      { name, measured: median(unkept) },
      { name: "the same with records, by turns", measured: median(kept), floor: name, goal: 0.85 },
      { name: "the same without limits, budgets and records", measured: median(nothing) },
    ];
  }
};

const median = (runs: readonly Measured[]): Measured =>
  [...runs].sort((a, b) => a.perSecond - b.perSecond)[Math.floor(runs.length / 2)]!;
