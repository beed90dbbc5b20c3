import { MatchingCodeError, plainName, type TwoFactorAuth } from "@countersign/client";
import { formatMatchingCode, useAction, useClient, usePendingTwoFactor } from "@countersign/react";
import { useEffect, useState } from "react";
import { approvePhone, rejectPhone } from "../acts/approve-phone.ts";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Sheet } from "../ui/sheet.tsx";
import { Failed } from "../ui/states.tsx";

/** The dialog that asks to approve a new phone, whenever one asks to join. */
export function ApproveDevice() {
  const { data, reload } = usePendingTwoFactor();
  const [later, setLater] = useState<string>();
  const request = data?.find(({ id, status }) => status === "pending" && id !== later);
  if (!request) return null;
  return <ApproveSheet key={request.id} request={request} onLater={() => setLater(request.id)} onRejected={reload} />;
}

interface ApproveSheetProps {
  request: TwoFactorAuth;
  onLater: () => void;
  onRejected: () => Promise<void>;
}

function ApproveSheet({ request: { id, request }, onLater, onRejected }: ApproveSheetProps) {
  const t = useTexts();
  const client = useClient();
  const { showCode, markDone } = usePageState();
  const [code, setCode] = useState("");
  useEffect(() => showCode("approve-phone"), [showCode]);
  const approve = useAction(async () => {
    await approvePhone(client, id, code);
    markDone("enroll");
    return true;
  });
  const reject = useAction(async () => {
    await rejectPhone(client, id);
    await onRejected();
  });
  const error = approve.error ?? reject.error;
  const isDifferent = error instanceof MatchingCodeError;
  return (
    <Sheet title={t.enroll.approveTitle}>
      <p className="muted">
        {t.enroll.approveLede(plainName(request.srcDevice.name) || t.security.unnamed, request.userOpInfo.signIn.email)}
      </p>
      {approve.result ? (
        <p className="note good" role="status">
          {t.enroll.approved}
        </p>
      ) : (
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            void approve.run();
          }}
        >
          <Field
            label={t.enroll.code}
            hint={t.enroll.codeHint}
            value={code}
            onChange={(typed) => setCode(formatMatchingCode(typed))}
            error={isDifferent ? t.enroll.different : undefined}
            isCode
          />
          {error !== undefined && !isDifferent && <Failed error={error} />}
          <div className="buttons">
            <Button type="submit" isPending={approve.isPending} isDisabled={code.length < 9}>
              {t.enroll.approve}
            </Button>
            <ActionButton kind="danger" action={reject}>
              {t.enroll.reject}
            </ActionButton>
            <Button kind="quiet" onPress={onLater}>
              {t.enroll.later}
            </Button>
          </div>
        </form>
      )}
    </Sheet>
  );
}
