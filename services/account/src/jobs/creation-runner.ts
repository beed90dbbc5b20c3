import { asOperation, type Clock, countUnderWay, inSpan, type Logger, sleepUntil, uuidv4 } from "@countersign/core";
import type { Chain } from "../domain/creations/chain.ts";
import { createAccounts } from "../domain/creations/create-accounts.ts";
import { type Creation, isRefusedForNow } from "../domain/creations/creation.ts";
import type { CreationSigner, CreationStore } from "../domain/ports.ts";

export interface CreationRunnerOptions {
  readonly store: CreationStore;
  readonly signer: CreationSigner;
  readonly chains: ReadonlyMap<string, Chain>;
  /** Called after this process has worked on a creation: its deployments may have ended. */
  onEnd(creation: Creation): void;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * This process begins no creation of a chain of which so many are under way, and takes over as many a
   * round.
   */
  readonly parallel: number;
  /** Between two rounds, in milliseconds: deployments that are requested together share a transaction. */
  readonly collectMs: number;
  /** A creation that is refused for now is requested again after one to two times this, in milliseconds. */
  readonly refusedRetryMs: number;
}

const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const IDLE_MS = 1_000;
const RETRY_MS = 1_000;

const pause = async (ms: number, signal: AbortSignal) => void (await sleepUntil(ms, [signal]));

/**
 * Batches queued deployments into creations and brings each to its end: this process's own, and those of a
 * runner that died. After an error the lease of a creation is shortened, and any runner takes it over. A
 * deployment that the chain refuses is failed; only another DeployAccount queues it again.
 */
export function startCreationRunner(options: CreationRunnerOptions) {
  const { store, chains, onEnd, clock, logger, parallel, collectMs, refusedRetryMs } = options;
  const owner = uuidv4();
  const stop = new AbortController();
  const running = new Map<string, Promise<void>>();
  const perChain = countUnderWay();
  const run = asOperation("creation", createAccounts({ ...options, owner, pause }));
  let woken = Promise.withResolvers<void>();
  let takesOverAt = 0;

  const lease = () => {
    const now = clock.now();
    return { owner, now, until: new Date(now.getTime() + LEASE_MS) };
  };

  async function bring(creation: Creation): Promise<void> {
    const chain = chains.get(creation.chainName);
    const { chainName, transactionId, accountIds: accountId, traces } = creation;
    const of = { component: "creation-runner", chainName, accountId, transactionId, traceId: traces[0]?.traceId };
    if (!chain) return logger.error(of, "the networks file has no such chain: its accounts are not created");
    const lost = new AbortController();
    const renewing = setInterval(() => {
      store.moveLeaseEnd(creation.id, lease()).then(
        (kept) => kept || lost.abort(),
        (err) =>
          logger.warn({ ...of, err }, "the lease of a creation was not renewed; another replica may continue it"),
      );
    }, RENEW_MS);
    try {
      const [parent, ...links] = traces;
      const signal = AbortSignal.any([stop.signal, lost.signal]);
      await inSpan("creation", { parent, links }, () => run(creation, chain, signal));
    } catch (err) {
      if (stop.signal.aborted || lost.signal.aborted) return;
      if (isRefusedForNow(err)) logger.warn({ ...of, err }, "a creation waits: the signer refuses it for now");
      else logger.error({ ...of, err }, "a creation was interrupted; will retry");
      // The lease ends soon instead: the next runner continues from what is committed.
      const now = clock.now();
      const until = new Date(now.getTime() + (isRefusedForNow(err) ? refusedRetryMs * (1 + Math.random()) : RETRY_MS));
      // If this fails, the lease ends by itself.
      await store.moveLeaseEnd(creation.id, { owner, now, until }).catch(() => undefined);
    } finally {
      clearInterval(renewing);
    }
  }

  function start(creation: Creation): void {
    const { id, chainName } = creation;
    const end = perChain.begin(chainName);
    const work = bring(creation).finally(() => {
      running.delete(id);
      end();
      onEnd(creation);
      wake();
    });
    running.set(id, work);
  }

  async function round(): Promise<void> {
    for (const [chainName] of chains) {
      while (perChain.of(chainName) < parallel) {
        const creation = await store.assign(chainName, lease());
        if (!creation) break;
        start(creation);
      }
    }
    // Leases end by time: a deployment that is queued ends none.
    if (performance.now() < takesOverAt) return;
    takesOverAt = performance.now() + IDLE_MS;
    for (let left = parallel; left > 0; left--) {
      const abandoned = await store.takeOver(lease());
      if (!abandoned) return;
      // It may be our own, whose lease lapsed while this process stood still.
      if (!running.has(abandoned.id)) start(abandoned);
    }
  }

  const wake = () => woken.resolve();
  const looping = (async () => {
    while (!stop.signal.aborted) {
      try {
        await round();
      } catch (err) {
        logger.warn({ err }, "creations failed for now; will retry");
      }
      const idle = pause(IDLE_MS, stop.signal);
      await Promise.race([woken.promise, idle]);
      woken = Promise.withResolvers<void>();
      // Deployments that are requested at the same time share one transaction.
      await pause(collectMs, stop.signal);
    }
  })();

  return {
    /** Something was queued. */
    wake,
    async close(): Promise<void> {
      stop.abort();
      wake();
      await looping;
      await Promise.allSettled(running.values());
    },
  };
}
