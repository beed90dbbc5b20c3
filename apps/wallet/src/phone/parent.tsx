import { useAccount, useAction, useClient, useTransaction } from "@countersign/react";
import { useState } from "react";
import { accept, offer, remove, report } from "../acts/link-parent.ts";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Failed } from "../ui/states.tsx";
import { remember } from "./history.tsx";
import { usePhone } from "./phone-context.tsx";
import { TransactionSheets } from "./transaction-sheets.tsx";

const ADDRESS = /^0x[0-9a-f]{16}$/;

/** Links this account as a child of another one, or accepts a child; the last step reads the chain. */
export function Parent({ address }: { address: string | undefined }) {
  const t = useTexts();
  const client = useClient();
  const { id, device } = usePhone();
  const { addresses, showCode } = usePageState();
  const { data, reload } = useAccount();
  const other = addresses[id === "one" ? "two" : "one"];
  const [typed, setTyped] = useState<string>();
  const partner = typed ?? (other !== address ? other : undefined) ?? "";
  const offering = useTransaction(offer);
  const accepting = useTransaction(accept);
  const removing = useTransaction(remove);
  const reporting = useAction(async () => {
    showCode("link-parent");
    await report(client).catch((error) => {
      // The last link has ended: that is news as well.
      if (error.error !== "ParentNotLinked" || !parent) throw error;
    });
    await reload();
  });
  const parent = data?.parent.find(({ chainName }) => chainName === network.chainName)?.address;
  const isAddress = ADDRESS.test(partner);
  const sent = (result: { id: string } | undefined) => {
    if (result) remember(device, { id: result.id, kind: "keys", other: partner });
  };
  const act = (work: () => Promise<{ id: string } | undefined>) => {
    showCode("link-parent");
    void work().then(sent);
  };
  return (
    <section className="card" data-card="parent">
      <h3>{t.security.parent}</h3>
      <p className="muted">{t.security.parentHint}</p>
      <p className={`note ${parent ? "good" : ""}`} role="status">
        {parent ? t.security.parentIs(parent) : t.security.parentNone}
      </p>
      {!parent && (
        <Field label={t.security.parentAddress} value={partner} onChange={setTyped} hint={t.send.toHint} isCode />
      )}
      {reporting.error !== undefined && <Failed error={reporting.error} />}
      <div className="buttons">
        {parent ? (
          <Button
            kind="danger"
            onPress={() => act(() => removing.send({ network, parent }))}
            isPending={removing.isPending}
          >
            {t.security.removeParent}
          </Button>
        ) : (
          <>
            <Button
              kind="plain"
              isDisabled={!isAddress}
              onPress={() => act(() => offering.send({ network, parent: partner }))}
              isPending={offering.isPending}
            >
              {t.security.offer}
            </Button>
            <Button
              kind="plain"
              isDisabled={!isAddress}
              onPress={() => act(() => accepting.send({ network, child: partner }))}
              isPending={accepting.isPending}
            >
              {t.security.accept}
            </Button>
          </>
        )}
        <Button kind="plain" onPress={() => void reporting.run()} isPending={reporting.isPending}>
          {t.security.report}
        </Button>
      </div>
      {[offering, accepting, removing].map((transaction, at) => (
        <TransactionSheets
          // biome-ignore lint/suspicious/noArrayIndexKey: always the same three
          key={at}
          transaction={transaction}
          done={t.progress.sealed}
          onDone={transaction.reset}
        />
      ))}
    </section>
  );
}
