import type { AuditLog } from "../audit/audit-log.ts";
import type { ReservationForCreation } from "../budget/reservation.ts";
import type { ChainPolicy } from "../policy/chain.ts";
import type { PolicySource } from "../policy/policy.ts";
import { bindAddress } from "./bind-address.ts";
import { cancelTimeLock } from "./cancel-time-lock.ts";
import { createDecide } from "./decide.ts";
import { deriveServerKeys } from "./derive-server-keys.ts";
import { explain } from "./explain.ts";
import { type AuditReader, getAuditProof } from "./get-audit-proof.ts";
import { getPublicKeys } from "./get-public-keys.ts";
import { getServerKeyRotation } from "./get-server-key-rotation.ts";
import { listTemplates } from "./list-templates.ts";
import type { BindingStore, SignedCreations, SignedTemplates, TimeLockStore } from "./ports.ts";
import { rotateBinding } from "./rotate-binding.ts";
import { beginSettlement, type SettleOptions, settleReservations } from "./settle-reservations.ts";
import { signCreation } from "./sign-creation.ts";
import { type SignPaymasterPorts, signPaymaster } from "./sign-paymaster.ts";
import { signTransaction } from "./sign-transaction.ts";
import { signAccountProof, signUserMessage } from "./sign-user-message.ts";
import { type SignVoidPorts, signVoid } from "./sign-void.ts";

/** Everything that the signer's commands use. */
export interface CommandPorts extends Omit<SignPaymasterPorts, "decide">, Omit<SettleOptions, "inclusionFees"> {
  readonly audit: AuditLog;
  readonly auditReader: AuditReader;
  readonly policies: PolicySource;
  readonly chains: ReadonlyMap<string, ChainPolicy>;
  readonly bindings: BindingStore;
  readonly signedCreations: SignedCreations;
  readonly signedTemplates: SignedTemplates;
  readonly timeLocks: TimeLockStore;
  readonly reservationForCreation: ReservationForCreation;
  readonly freezes: SignVoidPorts["freezes"];
}

/** Makes the commands: one for each RPC of signer.v1, apart from SignStream. */
export function createCommands(ports: CommandPorts) {
  const { clock, policies, timeLocks } = ports;
  const signing = { ...ports, decide: createDecide(ports) };
  const inclusionFees = (chainName: string) => policies.current().pricesOf(chainName).inclusion;
  return {
    signTransaction: signTransaction(signing),
    signPaymaster: signPaymaster(signing),
    signCreation: signCreation(signing),
    signVoid: signVoid(signing),
    signUserMessage: signUserMessage(signing),
    signAccountProof: signAccountProof(signing),
    deriveServerKeys: deriveServerKeys(ports),
    bindAddress: bindAddress(ports),
    getServerKeyRotation: getServerKeyRotation(ports),
    rotateBinding: rotateBinding(ports),
    listTimeLocks: (accountId: string) => timeLocks.list(accountId, clock.now()),
    cancelTimeLock: cancelTimeLock(ports),
    beginSettlement: beginSettlement(ports),
    settleReservations: settleReservations({ ...ports, inclusionFees }),
    getPublicKeys: getPublicKeys(ports),
    explain: explain(ports),
    listTemplates: listTemplates(ports),
    getAuditProof: getAuditProof(ports.auditReader),
  };
}
export type Commands = ReturnType<typeof createCommands>;
