import { createAccessApi } from "@countersign/flow";
import { useKeys, useResource } from "@countersign/react";
import { useCallback } from "react";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { short } from "../ui/copyable.tsx";
import { Failed, Loading } from "../ui/states.tsx";

/** The account's keys as the chain has them, with what the service knows of each. */
export function Keys({ address }: { address: string | undefined }) {
  const t = useTexts();
  const registered = useKeys();
  const read = useCallback(
    async () =>
      address ? createAccessApi({ baseUrl: network.accessNode }).accountKeys(address.replace("0x", "")) : undefined,
    [address],
  );
  const {
    data,
    error = registered.error,
    reload,
  } = useResource(read, ["key.added", "key.revoked", "two-factor.finished"]);
  const known = registered.data;
  const typeOf = (publicKey: string) => known?.find((key) => key.publicKey === publicKey)?.type ?? "server";
  return (
    <section className="card">
      <h3>{t.security.keys}</h3>
      <p className="muted">{t.security.weightHint}</p>
      {error !== undefined && <Failed error={error} retry={() => Promise.all([registered.reload(), reload()])} />}
      {!(data && known) && error === undefined && <Loading />}
      <ul className="rows">
        {/* Without the registered keys a phone's key would be shown as the service's. */}
        {known &&
          data
            ?.filter(({ revoked }) => !revoked)
            .map(({ index, publicKey, weight }) => (
              <li key={index} className="key-row">
                <span className="row-text">
                  {t.security.keyTypes[typeOf(publicKey)]}
                  <small className="mono">{short(publicKey)}</small>
                </span>
                <span className="weight">
                  <meter min={0} max={1000} value={weight} aria-label={t.security.weight(weight)} />
                  <small>{t.security.weight(weight)}</small>
                </span>
              </li>
            ))}
      </ul>
    </section>
  );
}
