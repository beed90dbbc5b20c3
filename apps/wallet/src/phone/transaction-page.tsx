import { useEffect, useState } from "react";
import { readTransaction } from "../acts/read-transaction.ts";
import { Code } from "../code/code.tsx";
import { network } from "../config.ts";
import { useLanguage, useTexts } from "../i18n/index.tsx";
import { Copyable } from "../ui/copyable.tsx";
import { Screen } from "../ui/screen.tsx";
import { Failed, Loading } from "../ui/states.tsx";
import { useCode } from "./welcome.tsx";

type Found = Awaited<ReturnType<typeof readTransaction>>;

/** A transaction as the chain shows it: the local chain has no explorer. */
export function TransactionPage({ id }: { id: string }) {
  const t = useTexts();
  const { language } = useLanguage();
  useCode("read-transaction");
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    readTransaction(network, id).then(setFound, setError);
  }, [id]);
  const failed = found?.result?.errorMessage;
  return (
    <Screen title={t.transaction.title}>
      {error !== undefined && <Failed error={error} />}
      {!found && error === undefined && <Loading rows={6} />}
      {found && (
        <>
          <dl className="facts">
            <Fact name={t.transaction.status}>
              <span className={failed ? "bad" : "good"}>{failed ? t.transaction.failed : t.transaction.sealed}</span>
            </Fact>
            <Fact name={t.transaction.id}>
              <Copyable text={id} />
            </Fact>
            {found.block && (
              <Fact name={t.transaction.block}>
                {String(found.block.height)} · {found.block.time.toLocaleTimeString(language)}
              </Fact>
            )}
            <Fact name={t.transaction.proposer}>
              <Copyable text={`0x${found.transaction.proposalKey.address}`} isWhole />
            </Fact>
            <Fact name={t.transaction.payer}>
              <Copyable text={`0x${found.transaction.payer}`} isWhole />
            </Fact>
            <Fact name={t.transaction.authorizers}>
              {found.transaction.authorizers.map((each) => (
                <Copyable key={each} text={`0x${each}`} isWhole />
              ))}
            </Fact>
          </dl>
          <h3>{t.transaction.events}</h3>
          <ul className="chain-events">
            {found.result?.events.map(({ type, index }) => (
              <li key={index} className="mono">
                {type.replace(/^A\.[0-9a-f]{16}\./, "")}
              </li>
            ))}
          </ul>
          <h3>{t.transaction.script}</h3>
          <Code text={found.transaction.script} label={t.transaction.script} />
        </>
      )}
    </Screen>
  );
}

const Fact = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
