import { ProblemError } from "@countersign/client";
import { useAction, useClient, useKeys, useTransaction } from "@countersign/react";
import { addRecoveryKey } from "../acts/add-recovery-key.ts";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { logIn } from "../login.ts";
import { usePageState } from "../page-state.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { Button } from "../ui/button.tsx";
import { TimeLeft } from "../ui/states.tsx";
import { cloudOf, noteInCloud } from "./cloud.ts";
import { availableAtOf } from "./freeze.tsx";
import { remember } from "./history.tsx";
import { rememberLogin } from "./last-login.ts";
import { usePhone } from "./phone-context.tsx";
import { TransactionSheets } from "./transaction-sheets.tsx";

const needsLogin = (error: unknown): boolean => error instanceof ProblemError && error.error === "LoginTooOld";
const isOwnError = (error: unknown): boolean => needsLogin(error) || availableAtOf(error) !== undefined;

/** Creates the recovery key and puts it on chain, also after a fresh login or a time lock. */
export function Recovery() {
  const t = useTexts();
  const client = useClient();
  const { device } = usePhone();
  const { showCode } = usePageState();
  const { data: keys, reload } = useKeys();
  const owner = device.note("email") ?? "";
  const transaction = useTransaction(addRecoveryKey);
  const add = async () => {
    showCode("add-recovery-key");
    const sent = await transaction.send({ cloud: cloudOf(owner), owner, network });
    if (!sent) return;
    noteInCloud(owner);
    remember(device, { id: sent.id, kind: "keys" });
    await reload();
  };
  const again = useAction(async () => {
    const { login } = await logIn(client.loginNonce, owner);
    rememberLogin(device, login);
    await client.signIn({ login, chainName: network.chainName });
    transaction.reset();
  });
  const availableAt = availableAtOf(transaction.error);
  const key = keys?.find(({ type, pending }) => type === "recover-key" && !pending);
  return (
    <section className="card">
      <h3>{t.security.recovery}</h3>
      <p className="muted">{t.security.recoveryHint}</p>
      {key && <p className="note good">{t.security.hasRecovery}</p>}
      {availableAt && (
        <p className="note locked" role="status">
          <TimeLeft at={availableAt} />
        </p>
      )}
      {needsLogin(transaction.error) && (
        <>
          <p className="note locked">{t.security.loginTooOld}</p>
          <ActionButton kind="plain" action={again}>
            {t.security.loginAgain}
          </ActionButton>
        </>
      )}
      {!key && (
        <Button kind="plain" onPress={() => void add()} isPending={transaction.isPending}>
          {t.security.addRecovery}
        </Button>
      )}
      <TransactionSheets
        transaction={transaction}
        done={t.security.hasRecovery}
        onDone={transaction.reset}
        isOwnError={isOwnError}
      />
    </section>
  );
}
