import { startFloor } from "../floors/start-floor.ts";
import { closedLoop, fixedRate, type LoadOptions, type Measured } from "../load.ts";
import { messagesOf } from "../messages.ts";
import { bareUnary, overHttp, overUnary, type SigningUsers } from "../signing-users.ts";
import { withCpu } from "../with-cpu.ts";
import type { Case } from "./case.ts";

/** Measures with a closed loop, then closes the connections. */
export async function measureFullLoad({ users, close }: SigningUsers, options: LoadOptions): Promise<Measured> {
  const measured = await closedLoop(users, options);
  close();
  return measured;
}

/**
 * Measures the paymaster's signature through the gateway and over gRPC. The floors are express and grpc-js
 * that do nothing but sign.
 */
export const paymaster: Case = async (bench) => {
  const { stack, connections } = bench;
  const people = await messagesOf(bench);
  const http = (baseUrl: string) => overHttp(baseUrl, people, "paymaster", connections);

  const signer = await startFloor("floor-signer");
  const unaryFloor = await measureFullLoad(bareUnary(signer.address, people, "paymaster", connections), bench);
  const viaUnary = await startFloor("floor-gateway", signer.address, "unary");
  const expressUnary = await measureFullLoad(http(`http://${viaUnary.address}`), bench);
  viaUnary.stop();
  const viaStream = await startFloor("floor-gateway", signer.address, "stream");
  const coalesced = await measureFullLoad(http(`http://${viaStream.address}`), bench);
  viaStream.stop();
  signer.stop();

  const gateway = await withCpu(stack, bench, (timed) => measureFullLoad(http(stack.gateway), timed));
  const half = await fixedRate(http(stack.gateway).users, gateway.measured.perSecond / 2, bench);
  const unary = await withCpu(stack, bench, (timed) =>
    measureFullLoad(overUnary(stack, people, "paymaster", connections), timed),
  );
  return [
    { name: "bare grpc-js unary, signing", measured: unaryFloor },
    { name: "express + grpc-js unary, signing", measured: expressUnary },
    { name: "express + coalesced stream, signing", measured: coalesced },
    {
      name: "paymaster through the gateway",
      ...gateway,
      floor: "express + coalesced stream, signing",
      goal: 0.5,
    },
    { name: "paymaster through the gateway, half load", measured: half, goalP99: 10 },
    { name: "paymaster over gRPC, unary", ...unary, floor: "bare grpc-js unary, signing" },
  ];
};
