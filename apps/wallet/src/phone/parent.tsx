import { useAccount, useAction, useClient, useTransaction } from "@countersign/react";
import { useEffect, useRef, useState } from "react";
import { accept, offer, remove, report } from "../acts/link-parent.ts";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { ActionButton } from "../ui/action-button.tsx";
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
  // A press while the chain is read is another read: the first one may have begun before the last seal.
  const isPressedAgain = useRef(false);
  const press = () => {
    if (reporting.isPending) isPressedAgain.current = true;
    else void reporting.run();
  };
  useEffect(() => {
    if (reporting.isPending || !isPressedAgain.current) return;
    isPressedAgain.current = false;
    void reporting.run();
  }, [reporting.isPending, reporting.run]);
  const parent = data?.parent.find(({ chainName }) => chainName === network.chainName)?.address;
  const isAddress = ADDRESS.test(partner);
  /** One of the three transactions as a button's action. */
  const act = <Input,>(
    { send, isPending }: { send: (input: Input) => Promise<{ id: string } | undefined>; isPending: boolean },
    input: Input,
  ) => ({
    isPending,
    async run() {
      showCode("link-parent");
      const sent = await send(input);
      if (sent) remember(device, { id: sent.id, kind: "keys", other: partner });
    },
  });
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
          <ActionButton kind="danger" action={act(removing, { network, parent })}>
            {t.security.removeParent}
          </ActionButton>
        ) : (
          <>
            <ActionButton kind="plain" isDisabled={!isAddress} action={act(offering, { network, parent: partner })}>
              {t.security.offer}
            </ActionButton>
            <ActionButton kind="plain" isDisabled={!isAddress} action={act(accepting, { network, child: partner })}>
              {t.security.accept}
            </ActionButton>
          </>
        )}
        <Button kind="plain" onPress={press} isPending={reporting.isPending}>
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
