import { services } from "@countersign/build/paths.ts";
import { internalName } from "@countersign/core";
import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import type { AddressOf } from "@countersign/local-stack/service-environment.ts";
import { startTcpProxy, type TcpProxy } from "@countersign/local-stack/testing/tcp-proxy.ts";
import { loadTls } from "@countersign/runtime";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.ts";

/** Every hop of a stack, each through a proxy of its own. */
export interface Network {
  /** For `startStack`. */
  addressOf: AddressOf;
  /** A hop to "postgres", "nats", "flow-emulator" or "auth-http". */
  tcp(caller: string, callee: string): TcpProxy;
  /** A hop from process to service; `callee` may name a replica. */
  rpc(caller: string, callee: string): RpcProxy;
  /** The hops of all processes to `callee`. */
  tcpsTo(callee: string): TcpProxy[];
  rpcs(): RpcProxy[];
  /** Calls `act` when the next such call arrives, before it is forwarded. */
  when(caller: string, callee: string, rpc: string, act: () => void): void;
  /** Calls since the last reset by "caller→callee package.Service/Method". */
  rpcCalls(): Map<string, number>;
  resetCounts(): void;
  close(): Promise<void>;
}

const hop = (caller: string, callee: string): string => `${caller}→${callee}`;
/** Returns the program of a process: a replica has its program's certificate. */
const program = (process: string): string => process.replace(/-\d+$/, "");

/** Makes the proxies of a stack as it asks for addresses. `seed` is for the jitter. */
export function createNetwork(stateDir: string, seed: number): Network {
  const rpcs = new Map<string, Promise<RpcProxy>>();
  const tcps = new Map<string, Promise<TcpProxy>>();
  const rpcReady = new Map<string, RpcProxy>();
  const tcpReady = new Map<string, TcpProxy>();

  const open = async <Proxy extends { address: string }>(
    name: string,
    all: Map<string, Promise<Proxy>>,
    ready: Map<string, Proxy>,
    start: () => Promise<Proxy>,
  ): Promise<string> => {
    const starting = all.get(name) ?? start();
    all.set(name, starting);
    const proxy = await starting;
    ready.set(name, proxy);
    return proxy.address;
  };
  const found = <Proxy>(ready: Map<string, Proxy>, caller: string, callee: string): Proxy => {
    const proxy = ready.get(hop(caller, callee));
    if (!proxy) throw new Error(`there is no hop ${hop(caller, callee)}`);
    return proxy;
  };
  const tls = (process: string) => loadTls(tlsFiles(stateDir, program(process)));

  return {
    addressOf: (caller, callee, target) => {
      const name = hop(caller, callee);
      if (!services.some((service) => service === program(callee))) {
        return open(name, tcps, tcpReady, () => startTcpProxy(target, seed));
      }
      const serverName = internalName(program(callee));
      return open(name, rpcs, rpcReady, () =>
        startRpcProxy({ target, serverName, callee: tls(callee), caller: tls(caller) }),
      );
    },
    tcp: (caller, callee) => found(tcpReady, caller, callee),
    rpc: (caller, callee) => found(rpcReady, caller, callee),
    tcpsTo: (callee) => [...tcpReady].flatMap(([name, proxy]) => (name.endsWith(hop("", callee)) ? [proxy] : [])),
    rpcs: () => [...rpcReady.values()],
    when: (caller, callee, rpc, act) => {
      const watching = found(rpcReady, caller, callee).inject({
        rpc,
        fault: { kind: "delay-answer", ms: 0 },
        matches: () => {
          watching.disarm();
          act();
          return false;
        },
      });
    },
    rpcCalls: () =>
      new Map([...rpcReady].flatMap(([name, { counts }]) => [...counts].map(([rpc, n]) => [`${name} ${rpc}`, n]))),
    resetCounts: () => {
      for (const proxy of rpcReady.values()) proxy.resetCounts();
    },
    close: async () => {
      await Promise.all([...rpcReady.values(), ...tcpReady.values()].map((proxy) => proxy.close()));
    },
  };
}
